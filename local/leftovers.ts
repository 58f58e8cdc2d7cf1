/** Deletes the temporary files that `replaceFile` leaves in the cache if its process is killed. */
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** The folders of the cache whose files are replaced, and the cache itself, which has the session key. */
const FOLDERS = ['', 'catalogs', 'approved', 'integrity', 'logins', 'vectors']
const TEMPORARY = /\.[0-9a-f-]{36}\.new$/
/** Another process may be writing a file that is newer. */
const MIN_AGE_MS = 3_600_000

/** `now` in milliseconds since the epoch. Never throws: what cannot be deleted stays. */
export async function deleteLeftovers(cacheFolder: string, now: number): Promise<void> {
  for (const folder of FOLDERS.map(name => join(cacheFolder, name))) {
    const names = await readdir(folder).catch(() => [])
    const left = names.filter(name => TEMPORARY.test(name)).map(name => join(folder, name))
    await Promise.allSettled(left.map(file => deleteOld(file, now - MIN_AGE_MS)))
  }
}

async function deleteOld(file: string, before: number): Promise<void> {
  if ((await stat(file)).mtimeMs < before) await rm(file, { force: true })
}
