/** Assembles the root folder of the image `portolan/portolan` from the bundle and the Node executable that runs this script. */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { HEAP_OPTIONS, MALLOC, NODE_OPTIONS, SERVING_OPTIONS } from '../cli/node-options.mjs'
import { MODEL_FILE, modelFileOf } from '../core/encoder/model-place.ts'
import { cacheFolder } from '../local/config.ts'
import { sharedLibraries } from './shared-libraries.ts'

const root = dirname(import.meta.dirname)

/** How a container of the image starts. Keep it equal to the Dockerfile. */
export const IMAGE_START = {
  entrypoint: ['/portolan/node', ...NODE_OPTIONS, ...HEAP_OPTIONS, ...SERVING_OPTIONS, '/app/portolan.js'],
  env: { ...MALLOC, HOME: '/tmp' },
  user: '65532:65532',
}

/** The parts of the image. */
export type ImageParts = {
  /** The folder that scripts/bundle.ts filled. */
  bundle: string
  /** The model file of the sentence encoder; without it, search matches words only. */
  model?: string
}

/**
 * Empties and fills `folder`. The containers of MCP servers get a copy of `/portolan` only: it starts the bridge with
 * `ld.so --library-path lib node bridge.cjs` in any image of the same CPU architecture, whatever its libc.
 */
export function assembleImageRoot(folder: string, { bundle, model }: ImageParts): void {
  rmSync(folder, { recursive: true, force: true })
  addRuntime(folder)
  addPrograms(folder, bundle)
  if (model) copyFileSync(model, join(folder, 'app', MODEL_FILE))
  addSystem(folder)
}

/** The path of the model file on this machine; undefined if it has not been fetched. */
export function fetchedModel(env: NodeJS.ProcessEnv): string | undefined {
  const file = modelFileOf(env, cacheFolder(env))
  return existsSync(file) ? file : undefined
}

function addRuntime(folder: string): void {
  const { loader, libraries } = sharedLibraries(process.execPath)
  if (!loader)
    throw new Error(`${process.execPath} is linked statically: it cannot be copied into other images`)
  const lib = join(folder, 'portolan', 'lib')
  mkdirSync(lib, { recursive: true })
  copyFileSync(process.execPath, join(folder, 'portolan', 'node'))
  copyFileSync(loader, join(folder, 'portolan', 'ld.so'))
  for (const library of libraries) copyFileSync(library, join(lib, basename(library)))
  // Symbolic links at the usual paths, so that `node` also starts directly in this image.
  link(folder, loader, '/portolan/ld.so')
  for (const place of new Set(libraries.map(dirname))) link(folder, place, '/portolan/lib')
}

function addPrograms(folder: string, bundle: string): void {
  const app = join(folder, 'app')
  mkdirSync(app)
  for (const file of readdirSync(bundle)) {
    const place = file.startsWith('bridge.') ? join(folder, 'portolan') : app
    copyFileSync(join(bundle, file), join(place, file))
  }
  copyFileSync(join(root, 'LICENSE'), join(app, 'LICENSE'))
}

function addSystem(folder: string): void {
  const etc = join(folder, 'etc')
  mkdirSync(etc)
  const users = ['root:x:0:0:root:/:/bin/false', 'nonroot:x:65532:65532:nonroot:/tmp:/bin/false']
  writeFileSync(join(etc, 'passwd'), `${users.join('\n')}\n`)
  writeFileSync(join(etc, 'group'), 'root:x:0:\nnonroot:x:65532:\n')
  writeFileSync(join(etc, 'nsswitch.conf'), 'hosts: files dns\n')
  mkdirSync(join(folder, 'tmp'))
  chmodSync(join(folder, 'tmp'), 0o1777)
}

function link(folder: string, from: string, to: string): void {
  mkdirSync(dirname(join(folder, from)), { recursive: true })
  symlinkSync(to, join(folder, from))
}

function main(): void {
  const [folder] = process.argv.slice(2)
  if (!folder) throw new Error('usage: node image-root.ts FOLDER, after bundle.ts')
  const model = fetchedModel(process.env)
  if (!model) process.stderr.write('without the model of `portolan model`: search matches words only\n')
  assembleImageRoot(resolve(folder), { bundle: join(root, 'dist'), model })
  process.stdout.write(`${resolve(folder)}\n`)
}

if (import.meta.main) main()
