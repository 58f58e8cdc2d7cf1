/** Reads the vectors of kinds of tools: a data file beside the bundle, which need not be compiled with the router's sources. */
import { readFileSync } from 'node:fs'
import { Fault } from '../../core/errors.ts'

export type Kinds = {
  dimensions: number
  /** The vectors one after the other, each of `dimensions` components. */
  components: Int8Array
}

/** Throws Fault `io` if the file is missing. */
export function readKinds(): Kinds {
  const file = new URL('../catalog/search/data/kinds.json', import.meta.url)
  const { dimensions, components } = JSON.parse(read(file)) as { dimensions: number; components: string }
  return { dimensions, components: new Int8Array(Buffer.from(components, 'base64')) }
}

function read(file: URL): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    const message = `The file ${file.pathname} of this installation is missing: install Portolan again.`
    throw new Fault('io', message, { cause })
  }
}
