/** Paths of manifests as given on the command line. */
import { ManifestFiles } from '../local/files.ts'
import { CommandError } from './command-error.ts'
import type { Terminal } from './output.ts'

/** Throws a CommandError if a path does not exist. For the start only: a path that disappears later is a change of the manifests. */
export async function mustExist(paths: readonly string[], terminal: Terminal): Promise<void> {
  const { problems } = await new ManifestFiles([...paths], terminal.env).scan()
  const missing = problems.filter(({ reason }) => reason === 'FileNotFound').map(({ file }) => file)
  if (missing.length > 0) throw new CommandError(`there is no such file or folder: ${missing.join(', ')}`)
}
