/** Replaces files of a folder for a while, and restores them later, perhaps in another process. Plain JavaScript for Node 20. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Writes the contents, by file name, and keeps in `aside` what the files were before. */
export function replaceFiles(root, aside, contents) {
  for (const folder of [beforeIn(aside), madeIn(aside)]) mkdirSync(folder, { recursive: true })
  for (const [file, text] of Object.entries(contents)) {
    writeFileSync(join(madeIn(aside), file), text)
    copyFileSync(join(root, file), join(beforeIn(aside), file))
    writeFileSync(join(root, file), text)
  }
}

/**
 * Restores the files. One that somebody has changed since stays as it is, and what it was before is kept in `kept`. Returns the
 * names of such files.
 */
export function restoreFiles(root, aside, files, kept) {
  const changed = []
  for (const file of files) {
    const before = join(beforeIn(aside), file)
    if (!existsSync(before) || isSame(before, join(root, file))) continue
    const isMade = isSame(join(madeIn(aside), file), join(root, file))
    if (!isMade) {
      mkdirSync(kept, { recursive: true })
      changed.push(file)
    }
    renameSync(before, join(isMade ? root : kept, file))
  }
  rmSync(aside, { recursive: true, force: true })
  return changed
}

function beforeIn(aside) {
  return join(aside, 'before')
}

function madeIn(aside) {
  return join(aside, 'made')
}

function isSame(one, other) {
  return existsSync(one) && existsSync(other) && readFileSync(one).equals(readFileSync(other))
}
