/** Finds what dynamically linked programs of this machine need to start: the loader and shared libraries. */
import { execFileSync } from 'node:child_process'

export type Libraries = {
  /** Path of the loader, as a program names it; a library names none. */
  loader?: string
  /** Paths by which the loader finds the libraries. */
  libraries: string[]
}

/** Asks the loader itself, about programs and libraries. Throws where one is linked statically, or not made for this machine. */
export function sharedLibraries(...files: string[]): Libraries {
  const listing = execFileSync('ldd', files, { encoding: 'utf8' })
  const missing = /(\S+) => not found/.exec(listing)
  if (missing) throw new Error(`${missing[1]} is not there, but ${files.join(' or ')} needs it`)
  const [loader] = [...listing.matchAll(/^\s*(\/\S+) \(0x/gm)].map(([, path]) => path)
  const libraries = new Set([...listing.matchAll(/=> (\/\S+) \(0x/g)].flatMap(([, path]) => path ?? []))
  return { loader, libraries: [...libraries] }
}
