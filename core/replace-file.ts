/** Replaces a file atomically: readers see the old content or the new one, whole. */
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Only the owner can read the file, and the folder, which is made if it does not exist. Throws what the file system says. */
export async function replaceFile(file: string, content: string | Buffer): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const made = `${file}.${process.pid}.new`
  try {
    await writeFile(made, content, { mode: 0o600 })
    await rename(made, file)
  } finally {
    await rm(made, { force: true })
  }
}
