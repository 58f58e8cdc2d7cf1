/** Paths as given on the command line. */
import { existsSync, readFileSync } from 'node:fs'
import { messageOf } from '../core/errors.ts'
import { CommandError, EXIT } from './command-error.ts'

/** Throws a CommandError if a path does not exist. For the start only: a path that disappears later is a change of the manifests. */
export function mustExist(paths: readonly string[]): void {
  const missing = paths.filter(path => !existsSync(path))
  if (missing.length > 0) throw new CommandError(`there is no such file or folder: ${missing.join(', ')}`)
}

/** The text of a file. Throws a CommandError that says why it cannot be read. */
export function readGiven(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw new CommandError(`there is no such file: ${file}`, EXIT.usage)
    const why = code === 'EISDIR' ? 'it is a folder' : messageOf(error)
    throw new CommandError(`${file} cannot be read: ${why}`, EXIT.usage)
  }
}
