/** Reads the vectors of kinds of tools: a data file beside the bundle, which need not be compiled with the router's sources. */
import { readInstalled } from '../../core/installed-file.ts'

export type Kinds = {
  dimensions: number
  /** The vectors one after the other, each of `dimensions` components. */
  components: Int8Array
}

/** Throws Fault `io` if the file is missing. */
export function readKinds(): Kinds {
  const json = readInstalled(new URL('../catalog/search/data/kinds.json', import.meta.url)).toString()
  const { dimensions, components } = JSON.parse(json) as { dimensions: number; components: string }
  return { dimensions, components: new Int8Array(Buffer.from(components, 'base64')) }
}
