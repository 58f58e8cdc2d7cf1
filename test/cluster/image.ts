/** Writes container images without a registry: a docker archive that containerd, kind and k3d import. */
import { createHash } from 'node:crypto'
import {
  createReadStream,
  createWriteStream,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { Transform, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Header, type Pack, pack } from 'tar-stream'

/** Entries by their absolute path in the image: copied from this machine (a file, folder or link), given as text, an empty folder, or a link. */
export type Layer = Record<
  string,
  | {
      from: string
      /** Names of files and folders below `from` that are left out. */
      except?: RegExp
    }
  | { content: string; mode?: number }
  | { folder: true; mode?: number }
  | { link: string }
>

export type Image = {
  /** `localhost/bridge:1` */
  reference: string
  layers: Layer[]
  entrypoint: string[]
  env?: Record<string, string>
  /** `65532:65532` */
  user?: string
  workdir?: string
}

type Blob = { name: string; digest: string; size: number; path: string }

/** Writes an image; equal files give equal bytes. */
export function writeImage(image: Image, archive: string): Promise<void> {
  return writeImages([image], archive)
}

/** Writes images into one archive, which contains equal layers only once. */
export async function writeImages(images: readonly Image[], archive: string): Promise<void> {
  const folder = mkdtempSync(`${archive}.`)
  try {
    const blobs = new Map<string, Blob>()
    const configs = new Map<string, string>()
    const manifests: object[] = []
    for (const image of images) {
      const layers: Blob[] = []
      for (const layer of image.layers) layers.push(await writeLayer(layer, join(folder, 'unfinished')))
      for (const layer of layers) blobs.set(layer.name, layer)
      const config = JSON.stringify(imageConfig(image, layers))
      const configName = `${createHash('sha256').update(config).digest('hex')}.json`
      configs.set(configName, config)
      const names = layers.map(layer => layer.name)
      manifests.push({ Config: configName, RepoTags: [image.reference], Layers: names })
    }
    await write(createWriteStream(archive), async tar => {
      for (const [name, config] of configs) await add(tar, { name }, config)
      for (const { name, size, path } of blobs.values()) await add(tar, { name, size }, { from: path })
      await add(tar, { name: 'manifest.json' }, JSON.stringify(manifests))
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function imageConfig(image: Image, layers: readonly Blob[]): object {
  return {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: {
      Entrypoint: image.entrypoint,
      Env: Object.entries(image.env ?? {}).map(([name, value]) => `${name}=${value}`),
      ...(image.user ? { User: image.user } : {}),
      ...(image.workdir ? { WorkingDir: image.workdir } : {}),
    },
    rootfs: { type: 'layers', diff_ids: layers.map(layer => `sha256:${layer.digest}`) },
  }
}

async function writeLayer(layer: Layer, path: string): Promise<Blob> {
  const hash = createHash('sha256')
  let size = 0
  const measured = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk)
      size += chunk.length
      done(null, chunk)
    },
  })
  const written = pipeline(measured, createWriteStream(path))
  await write(measured, async tar => {
    for (const target of Object.keys(layer).sort()) {
      const entry = layer[target]
      const name = target.replace(/^\//, '')
      if (!entry) continue
      if ('from' in entry) await addPath(tar, name, entry.from, entry.except)
      else if ('content' in entry) await add(tar, { name, mode: entry.mode }, entry.content)
      else if ('link' in entry) await add(tar, { name, type: 'symlink', linkname: entry.link })
      else await add(tar, { name, mode: entry.mode, type: 'directory' })
    }
  })
  await written
  const digest = hash.digest('hex')
  const name = `${digest}.tar`
  const finished = join(dirname(path), name)
  renameSync(path, finished)
  return { name, digest, size, path: finished }
}

async function addPath(tar: Pack, name: string, from: string, except?: RegExp): Promise<void> {
  const stat = lstatSync(from)
  const mode = stat.mode & 0o7777
  if (stat.isSymbolicLink()) return add(tar, { name, type: 'symlink', linkname: readlinkSync(from) })
  if (!stat.isDirectory()) return add(tar, { name, mode, size: stat.size }, { from })
  await add(tar, { name, mode, type: 'directory' })
  for (const child of readdirSync(from).sort())
    if (!except?.test(child)) await addPath(tar, posix.join(name, child), join(from, child), except)
}

/** Runs `fill` on a new tar that flows into `sink`. */
async function write(sink: Writable, fill: (tar: Pack) => Promise<void>): Promise<void> {
  const tar = pack()
  const flowed = pipeline(tar, sink)
  await fill(tar)
  tar.finalize()
  await flowed
}

/** Adds an entry that belongs to root, always with the same date. */
async function add(
  tar: Pack,
  header: Partial<Header> & { name: string },
  content: string | { from: string } = '',
): Promise<void> {
  const complete = { uid: 0, gid: 0, mtime: new Date(0), ...header }
  if (typeof content === 'string') tar.entry(complete, content)
  else await pipeline(createReadStream(content.from), tar.entry(complete))
}
