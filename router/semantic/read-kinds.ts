/** Reads the vectors of kinds of tools. */
import { readInstalledJson } from './installed-file.ts'

export type Kinds = {
  dimensions: number
  /** The vectors one after the other, each of `dimensions` components. */
  components: Int8Array
}

/** Throws Fault `io` if the file is missing. */
export function readKinds(): Kinds {
  const file = new URL('../catalog/search/data/kinds.json', import.meta.url)
  const { dimensions, components } = readInstalledJson(file) as { dimensions: number; components: string }
  return { dimensions, components: new Int8Array(Buffer.from(components, 'base64')) }
}
