/** Builds the images that tests need, without a registry or a container engine; images with unchanged contents are not rebuilt. */
import { createHash, type Hash } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cacheFolder } from '../../local/config.ts'
import { type Image, type Layer, writeImages } from '../cluster/image.ts'
import { portolanImage } from './portolan.ts'
import { clientImage, fixturesImage, scratchImage } from './programs.ts'
import { nodeImage, pythonImage } from './runtimes.ts'

type Maker = (folder: string) => Promise<Image>

/** Images that change together are in one archive, which contains shared layers only once. */
const ARCHIVES = {
  portolan: [portolanImage],
  tests: [nodeImage, pythonImage, fixturesImage, clientImage, scratchImage],
} satisfies Record<string, Maker[]>

export type ArchiveName = keyof typeof ARCHIVES

/** Older archives are kept, because a concurrent test may be importing one. */
const KEPT_ARCHIVES = 3

export function imageFolder(env: NodeJS.ProcessEnv = process.env): string {
  return join(cacheFolder(env), 'images')
}

/** Builds the images whose contents have changed; resolves with the paths of docker archives. */
export async function buildImages(
  folder = imageFolder(),
  names = Object.keys(ARCHIVES) as ArchiveName[],
): Promise<Record<ArchiveName, string>> {
  mkdirSync(folder, { recursive: true })
  const paths: [string, string][] = []
  for (const name of names) paths.push([name, await buildArchive(name, folder)])
  return Object.fromEntries(paths) as Record<ArchiveName, string>
}

async function buildArchive(name: ArchiveName, folder: string): Promise<string> {
  const work = mkdtempSync(join(tmpdir(), `portolan-images-${name}-`))
  try {
    const images: Image[] = []
    for (const [at, make] of ARCHIVES[name].entries()) images.push(await make(join(work, String(at))))
    const path = join(folder, `${name}-${digestOf(images)}.tar`)
    if (existsSync(path)) {
      utimesSync(path, new Date(), new Date())
      return path
    }
    const unfinished = join(folder, `.${name}-${process.pid}.tar`)
    await writeImages(images, unfinished)
    renameSync(unfinished, path)
    removeOld(name, folder)
    return path
  } finally {
    rmSync(work, { recursive: true })
  }
}

function removeOld(name: string, folder: string): void {
  const archives = readdirSync(folder)
    .filter(file => file.startsWith(`${name}-`))
    .map(file => join(folder, file))
    .sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs)
  for (const path of archives.slice(KEPT_ARCHIVES)) rmSync(path, { force: true })
}

/** A digest of the archive's contents. */
function digestOf(images: readonly Image[]): string {
  const hash = createHash('sha256')
  for (const { layers, ...start } of images) {
    hash.update(JSON.stringify(start))
    for (const layer of layers) addLayer(hash, layer)
  }
  return hash.digest('hex').slice(0, 16)
}

function addLayer(hash: Hash, layer: Layer): void {
  for (const target of Object.keys(layer).sort()) {
    const entry = layer[target]
    if (entry && 'from' in entry) addFiles(hash, target, entry.from, entry.except)
    else hash.update(JSON.stringify([target, entry]))
  }
}

function addFiles(hash: Hash, target: string, from: string, except?: RegExp): void {
  const stat = lstatSync(from)
  hash.update(JSON.stringify([target, stat.mode]))
  if (stat.isSymbolicLink()) hash.update(readlinkSync(from))
  else if (!stat.isDirectory()) hash.update(readFileSync(from))
  else {
    for (const child of readdirSync(from).sort())
      if (!except?.test(child)) addFiles(hash, join(target, child), join(from, child), except)
  }
}
