/** The key that signs the ids of clients' sessions on a laptop. */
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const SESSION_KEY_BYTES = 32

/** 32 random bytes, created by the first call with this cache folder and stored there, so that clients' sessions survive a restart. */
export async function sessionKey(cacheFolder: string): Promise<Buffer> {
  const file = join(cacheFolder, 'session-key')
  const kept = await readFile(file).catch(() => undefined)
  if (kept?.length === SESSION_KEY_BYTES) return kept
  const key = randomBytes(SESSION_KEY_BYTES)
  await mkdir(cacheFolder, { recursive: true })
  await writeFile(file, key, { mode: 0o600 })
  return key
}
