/** Assembles the root folder of the image `portolan/portolan`, from the bundle and the Node that runs this. */
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
import { MALLOC, NODE_OPTIONS } from '../cli/node-options.mjs'
import { MODEL_FILE, modelFileOf } from '../core/encoder/model-place.ts'
import { cacheFolder } from '../local/config.ts'
import { sharedLibraries } from './shared-libraries.ts'

const root = dirname(import.meta.dirname)

/** How a container of the image starts; the Dockerfile says the same. */
export const IMAGE_START = {
  entrypoint: ['/portolan/node', ...NODE_OPTIONS, '/app/portolan.js'],
  env: { ...MALLOC, HOME: '/tmp' },
  user: '65532:65532',
}

/** What the image is made of. */
export type ImageParts = {
  /** The folder that scripts/bundle.ts filled. */
  bundle: string
  /** The file of the sentence encoder; without it the image finds tools by words alone. */
  model?: string
}

/**
 * Fills `folder`, which is emptied before. `/portolan` alone is what other containers are lent: it starts by
 * `ld.so --library-path lib node bridge.cjs` in any image of this kind of processor, whatever its libc.
 */
export function assembleImageRoot(folder: string, { bundle, model }: ImageParts): void {
  rmSync(folder, { recursive: true, force: true })
  addRuntime(folder)
  addPrograms(folder, bundle)
  if (model) copyFileSync(model, join(folder, 'app', MODEL_FILE))
  addSystem(folder)
}

/** Where this machine has the model; undefined where it was never fetched. */
export function fetchedModel(env: NodeJS.ProcessEnv): string | undefined {
  const file = modelFileOf(env, cacheFolder(env))
  return existsSync(file) ? file : undefined
}

function addRuntime(folder: string): void {
  const { loader, libraries } = sharedLibraries(process.execPath)
  if (!loader) throw new Error(`${process.execPath} has no loader: it cannot be lent to other images`)
  const lib = join(folder, 'portolan', 'lib')
  mkdirSync(lib, { recursive: true })
  copyFileSync(process.execPath, join(folder, 'portolan', 'node'))
  copyFileSync(loader, join(folder, 'portolan', 'ld.so'))
  for (const library of libraries) copyFileSync(library, join(lib, basename(library)))
  // `node` finds them by itself in this image, where its loader looks first
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
  if (!model) process.stderr.write('without the model of `portolan model`: tools are found by words alone\n')
  assembleImageRoot(resolve(folder), { bundle: join(root, 'dist'), model })
  process.stdout.write(`${resolve(folder)}\n`)
}

if (import.meta.main) main()
