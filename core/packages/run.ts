/** Runs one installer command and keeps the last lines of its output for the error message. */
import { spawn } from 'node:child_process'
import { Fault } from '../errors.ts'
import type { Reaper } from '../mcp/client/stdio/reaper.ts'

const KEPT_LINES = 40
const KEPT_LINE_LENGTH = 500
const MAX_STDOUT = 64 * 1024
const INSTALLER_LIMIT_MS = 10 * 60_000
/** Processes that an installation script leaves behind may keep the pipes open after the command has exited. */
const LAST_OUTPUT_MS = 200

export type RunOptions = {
  env: Readonly<Record<string, string>>
  cwd?: string
  signal: AbortSignal
  /** Kills the command if this process is killed. */
  reaper?: Reaper
  /** The command is killed after this time. Default: ten minutes. */
  limitMs?: number
}

/**
 * Runs `command`. Resolves with its standard output (about 64 KiB at most) if it exits with code 0; otherwise rejects with Fault `io`
 * and the last lines of its output, or with `cancelled` if the signal aborted. The Fault has a cause, the error of the system, only if
 * the command could not be started. The signal and the time limit kill its process group.
 */
export function run(command: string, args: string[], options: RunOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    if (options.signal.aborted) return reject(new Fault('cancelled', 'The installation was cancelled.'))
    const child = spawn(command, args, {
      env: options.env,
      cwd: options.cwd,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const group = child.pid
    if (group !== undefined) options.reaper?.watch(group).catch(() => {})
    const tail = createTail()
    let stdout = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (stdout.length < MAX_STDOUT) stdout += text
      tail.add(text)
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => tail.add(text))
    const stop = () => killGroup(child.pid)
    const { limitMs = INSTALLER_LIMIT_MS } = options
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      stop()
    }, limitMs)
    options.signal.addEventListener('abort', stop, { once: true })
    const done = () => {
      clearTimeout(timer)
      options.signal.removeEventListener('abort', stop)
      if (group !== undefined) options.reaper?.forget(group)
    }
    child.on('error', error => {
      done()
      reject(new Fault('io', `\`${command}\` could not be started: ${error.message}.`, { cause: error }))
    })
    child.on('exit', () => {
      const timer = setTimeout(() => {
        stop()
        // Then `close` is emitted, also if a process that has left the group still holds the pipes.
        for (const stream of [child.stdout, child.stderr]) stream.destroy()
      }, LAST_OUTPUT_MS)
      child.once('close', () => clearTimeout(timer))
    })
    child.on('close', (code, signal) => {
      done()
      if (code === 0) return resolve(stdout)
      if (options.signal.aborted) return reject(new Fault('cancelled', 'The installation was cancelled.'))
      const late = `was ended because it took longer than ${limitMs / 1_000} s`
      const end = isLate ? late : code === null ? `was ended by ${signal}` : `ended with code ${code}`
      reject(new Fault('io', `\`${[command, ...args.slice(0, 2)].join(' ')}\` ${end}:\n${tail.text()}`))
    })
  })
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The process group has already ended.
  }
}

/** Keeps the last lines of a text that arrives in pieces. */
function createTail(): { add(text: string): void; text(): string } {
  let lines: string[] = []
  let unfinished = ''
  return {
    add(text) {
      const parts = (unfinished + text).split(/\r?\n|\r/)
      unfinished = (parts.pop() ?? '').slice(0, KEPT_LINE_LENGTH)
      lines.push(...parts.filter(line => line.trim() !== '').map(line => line.slice(0, KEPT_LINE_LENGTH)))
      lines = lines.slice(-KEPT_LINES)
    },
    text: () => [...lines, unfinished].filter(line => line.trim() !== '').join('\n'),
  }
}
