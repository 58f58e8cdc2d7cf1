/** A lock between processes, which the kernel releases even if its holder is killed: an exclusive SQLite transaction. */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Clock, delay } from '../../core/async.ts'

const RETRY_MS = 250
const SQLITE_BUSY = 5

/**
 * Runs `work` while holding the lock on the file `path`; waits while another process (or this one) holds it.
 * `onWait` is called once if it has to wait. Unlike a PID file, the lock cannot outlive its holder.
 */
export async function withLock<T>(
  path: string,
  work: () => Promise<T>,
  options: { clock: Clock; signal: AbortSignal; onWait?: () => void },
): Promise<T> {
  mkdirSync(dirname(path), { recursive: true })
  const lock = new DatabaseSync(path, { timeout: 0 })
  try {
    for (let tries = 0; !tryLock(lock); tries++) {
      if (tries === 0) options.onWait?.()
      await delay(options.clock, RETRY_MS, options.signal)
    }
    return await work()
  } finally {
    lock.close()
  }
}

/** Returns whether the lock was free and is now held. */
function tryLock(lock: DatabaseSync): boolean {
  try {
    lock.exec('BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    if (error instanceof Error && (error as { errcode?: number }).errcode === SQLITE_BUSY) return false
    throw error
  }
}
