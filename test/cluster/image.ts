/** Writes container images without a registry: a docker archive that containerd, kind and k3d import. */
import { createHash } from 'node:crypto'
import {
  createReadStream,
  createWriteStream,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
} from 'node:fs'
import { join, posix } from 'node:path'
import { Transform, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Header, type Pack, pack } from 'tar-stream'

/** Files by their absolute path in the image: a file, folder or link of this machine, or content. */
export type Layer = Record<
  string,
  { from: string } | { content: string; mode?: number } | { folder: true; mode?: number }
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
export async function writeImage(image: Image, archive: string): Promise<void> {
  const folder = mkdtempSync(`${archive}.`)
  try {
    const layers: Blob[] = []
    for (const [at, layer] of image.layers.entries())
      layers.push(await writeLayer(layer, join(folder, `${at}.tar`)))
    const config = JSON.stringify(imageConfig(image, layers))
    const configName = `${createHash('sha256').update(config).digest('hex')}.json`
    const names = layers.map(layer => layer.name)
    const manifest = [{ Config: configName, RepoTags: [image.reference], Layers: names }]
    await write(createWriteStream(archive), async tar => {
      await add(tar, { name: configName }, config)
      for (const layer of layers) await add(tar, { name: layer.name, size: layer.size }, { from: layer.path })
      await add(tar, { name: 'manifest.json' }, JSON.stringify(manifest))
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
      if ('from' in entry) await addPath(tar, name, entry.from)
      else if ('content' in entry) await add(tar, { name, mode: entry.mode }, entry.content)
      else await add(tar, { name, mode: entry.mode, type: 'directory' })
    }
  })
  await written
  const digest = hash.digest('hex')
  return { name: `${digest}.tar`, digest, size, path }
}

async function addPath(tar: Pack, name: string, from: string): Promise<void> {
  const stat = lstatSync(from)
  if (stat.isSymbolicLink()) return add(tar, { name, type: 'symlink', linkname: readlinkSync(from) })
  if (!stat.isDirectory()) return add(tar, { name, mode: stat.mode & 0o777, size: stat.size }, { from })
  await add(tar, { name, mode: stat.mode & 0o777, type: 'directory' })
  for (const child of readdirSync(from).sort()) await addPath(tar, posix.join(name, child), join(from, child))
}

/** Runs `fill` on a new tar that flows into `sink`. */
async function write(sink: Writable, fill: (tar: Pack) => Promise<void>): Promise<void> {
  const tar = pack()
  const flowed = pipeline(tar, sink)
  await fill(tar)
  tar.finalize()
  await flowed
}

/** Adds an entry of root's, without a date. */
async function add(
  tar: Pack,
  header: Partial<Header> & { name: string },
  content: string | { from: string } = '',
): Promise<void> {
  const dated = { uid: 0, gid: 0, mtime: new Date(0), ...header }
  if (typeof content === 'string') tar.entry(dated, content)
  else await pipeline(createReadStream(content.from), tar.entry(dated))
}
