/** What an image needs to run scripts on the Node that runs this: the program, its shared libraries, a user, a place to write. */
import { realpathSync } from 'node:fs'
import { run } from './command.ts'
import type { Layer } from './image.ts'

export const NODE_IN_IMAGE = '/usr/bin/node'
export const NONROOT_USER = '65532:65532'

export async function nodeLayer(): Promise<Layer> {
  const libraries = await sharedLibraries(process.execPath)
  return {
    [NODE_IN_IMAGE]: { from: realpathSync(process.execPath) },
    ...Object.fromEntries(libraries.map(path => [path, { from: realpathSync(path) }])),
    '/etc/passwd': {
      content: 'root:x:0:0:root:/root:/bin/false\nnonroot:x:65532:65532:nonroot:/tmp:/bin/false\n',
    },
    '/etc/group': { content: 'root:x:0:\nnonroot:x:65532:\n' },
    '/tmp': { folder: true, mode: 0o1777 },
  }
}

/** Absolute paths by which the loader finds a program's libraries, and the loader itself. */
async function sharedLibraries(file: string): Promise<string[]> {
  const listing = await run(['ldd', file])
  return [...listing.matchAll(/(?:=> )?(\/\S+) \(0x/g)].flatMap(([, path]) => path ?? [])
}
