/** What images need to run programs of this machine: the programs, their shared libraries, users, a place to write. */
import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { sharedLibraries } from '../../scripts/shared-libraries.ts'
import type { Layer } from './image.ts'

export const NODE_IN_IMAGE = '/usr/bin/node'
export const NONROOT_USER = '65532:65532'

export async function nodeLayer(): Promise<Layer> {
  return {
    ...programLayer({ [NODE_IN_IMAGE]: process.execPath }),
    '/etc/passwd': {
      content: 'root:x:0:0:root:/root:/bin/false\nnonroot:x:65532:65532:nonroot:/tmp:/bin/false\n',
    },
    '/etc/group': { content: 'root:x:0:\nnonroot:x:65532:\n' },
    '/tmp': { folder: true, mode: 0o1777 },
  }
}

/** Programs by their path in the image, with all libraries that they and `modules` (loaded at run time) are linked with. */
export function programLayer(programs: Record<string, string>, modules: readonly string[] = []): Layer {
  const files = Object.values(programs).map(path => realpathSync(path))
  const { loader, libraries } = sharedLibraries(...files, ...modules)
  // a library that only this machine's search path finds is put into a folder that every loader searches
  const home = dirname(libraries.find(path => basename(path) === 'libc.so.6') ?? '/lib')
  const placed = libraries.map(path => [join(home, basename(path)), path])
  const all = [...placed, ...(loader ? [[loader, loader]] : []), ...Object.entries(programs)]
  return Object.fromEntries(all.map(([target, path = '']) => [target, { from: realpathSync(path) }]))
}
