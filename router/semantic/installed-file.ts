/** Reads data files of the installation, which stand beside the bundle and need not be compiled with the router's sources. */
import { readFileSync } from 'node:fs'
import { Fault } from '../../core/errors.ts'

/** The JSON of a file. Throws Fault `io` if it is missing. */
export function readInstalledJson(file: URL): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    const message = `The file ${file.pathname} of this installation is missing: install Portolan again.`
    throw new Fault('io', message, { cause })
  }
}
