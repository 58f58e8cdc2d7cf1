/** The key that signs the ids of clients' sessions on a laptop. */
import { randomBytes, randomUUID } from 'node:crypto'
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const SESSION_KEY_BYTES = 32

/**
 * 32 random bytes, created by the first call with this cache folder and stored there, so that clients' sessions survive a restart. Processes
 * that create the key at the same time get the same one.
 */
export async function sessionKey(cacheFolder: string): Promise<Buffer> {
  const file = join(cacheFolder, 'session-key')
  const kept = await readKey(file)
  if (kept) return kept
  const key = randomBytes(SESSION_KEY_BYTES)
  await mkdir(cacheFolder, { recursive: true, mode: 0o700 })
  const temporary = `${file}.${randomUUID()}.new`
  try {
    await writeFile(temporary, key, { mode: 0o600 })
    // Unlike a rename, a link never replaces the key of another process.
    const isFirst = await link(temporary, file).then(
      () => true,
      () => false,
    )
    const other = isFirst ? undefined : await readKey(file)
    if (other) return other
    // The file is damaged, or the file system has no links.
    if (!isFirst) await rename(temporary, file)
    return key
  } finally {
    await rm(temporary, { force: true })
  }
}

async function readKey(file: string): Promise<Buffer | undefined> {
  const key = await readFile(file).catch(() => undefined)
  return key?.length === SESSION_KEY_BYTES ? key : undefined
}
