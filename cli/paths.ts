/** Paths of manifests as given on the command line. */
import { existsSync } from 'node:fs'
import { CommandError } from './command-error.ts'

/** Throws a CommandError if a path does not exist. For the start only: a path that disappears later is a change of the manifests. */
export function mustExist(paths: readonly string[]): void {
  const missing = paths.filter(path => !existsSync(path))
  if (missing.length > 0) throw new CommandError(`there is no such file or folder: ${missing.join(', ')}`)
}
