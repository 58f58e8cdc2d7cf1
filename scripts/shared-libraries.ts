/** Finds the loader and the shared libraries that dynamically linked programs need. */
import { execFileSync } from 'node:child_process'

export type Libraries = {
  /** Path of the loader that a program refers to; libraries refer to none. */
  loader?: string
  /** Paths of the libraries. */
  libraries: string[]
}

/** Asks the loader (`ldd`) about programs and libraries. Throws if one is linked statically, or built for another machine. */
export function sharedLibraries(...files: string[]): Libraries {
  const listing = execFileSync('ldd', files, { encoding: 'utf8' })
  const missing = /(\S+) => not found/.exec(listing)
  if (missing) throw new Error(`${missing[1]} was not found, but ${files.join(' or ')} needs it`)
  const [loader] = [...listing.matchAll(/^\s*(\/\S+) \(0x/gm)].map(([, path]) => path)
  const libraries = new Set([...listing.matchAll(/=> (\/\S+) \(0x/g)].flatMap(([, path]) => path ?? []))
  return { loader, libraries: [...libraries] }
}
