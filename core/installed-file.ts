/** Reads files of the installation: they lie beside their source in a clone, and beside the bundle elsewhere. */
import { readFileSync } from 'node:fs'
import { Fault } from './errors.ts'

/** Throws Fault `io` if the file is missing. */
export function readInstalled(file: URL): Buffer {
  try {
    return readFileSync(file)
  } catch (cause) {
    const message = `The file ${file.pathname} of this installation is missing: install Portolan again.`
    throw new Fault('io', message, { cause })
  }
}
