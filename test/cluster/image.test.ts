/** Unpacks images that were written and checks what is in them. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  createReadStream,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { extract, type Header } from 'tar-stream'
import { type Image, writeImage } from './image.ts'

const folder = mkdtempSync(join(tmpdir(), 'portolan-image-test-'))
after(() => rmSync(folder, { recursive: true }))

function exampleImage(): Image {
  const app = join(folder, 'app')
  mkdirSync(join(app, 'inner'), { recursive: true })
  writeFileSync(join(app, 'inner', 'main.js'), 'run()', { mode: 0o755 })
  rmSync(join(app, 'link'), { force: true })
  symlinkSync('inner/main.js', join(app, 'link'))
  return {
    reference: 'localhost/example:1',
    layers: [
      { '/tmp': { folder: true, mode: 0o1777 }, '/etc/passwd': { content: 'root\n' } },
      { '/app': { from: app } },
    ],
    entrypoint: ['/app/link'],
    env: { HOME: '/tmp' },
    user: '65532:65532',
  }
}

test('a manifest names the configuration by its digest, and the configuration names the layers by theirs', async () => {
  const archive = join(folder, 'named.tar')
  await writeImage(exampleImage(), archive)
  const files = await unpack(createReadStream(archive))
  const [manifest] = JSON.parse(contentOf(files, 'manifest.json'))
  assert.deepEqual(manifest.RepoTags, ['localhost/example:1'])
  const config = JSON.parse(contentOf(files, manifest.Config))
  assert.equal(manifest.Config, `${digest(contentOf(files, manifest.Config))}.json`)
  assert.deepEqual(config.config, { Entrypoint: ['/app/link'], Env: ['HOME=/tmp'], User: '65532:65532' })
  const layers = manifest.Layers.map((name: string) => contentOf(files, name))
  assert.deepEqual(
    config.rootfs.diff_ids,
    layers.map((layer: string) => `sha256:${digest(layer)}`),
  )
})

test('files keep their mode, links stay links, all belong to root', async () => {
  const archive = join(folder, 'modes.tar')
  await writeImage(exampleImage(), archive)
  const files = await unpack(createReadStream(archive))
  const [manifest] = JSON.parse(contentOf(files, 'manifest.json'))
  const layers = await Promise.all(
    manifest.Layers.map((name: string) =>
      unpack(Readable.from([Buffer.from(contentOf(files, name), 'latin1')])),
    ),
  )
  const seen = layers
    .flat()
    .map(({ header }) => [header.name, header.mode.toString(8), header.linkname, header.uid])
  assert.deepEqual(seen, [
    ['etc/passwd', '644', null, 0],
    ['tmp', '1777', null, 0],
    ['app', '755', null, 0],
    ['app/inner', '755', null, 0],
    ['app/inner/main.js', '755', null, 0],
    ['app/link', '644', 'inner/main.js', 0],
  ])
})

test('equal files give equal bytes', async () => {
  const archives = [join(folder, 'first.tar'), join(folder, 'second.tar')]
  for (const archive of archives) await writeImage(exampleImage(), archive)
  const [first, second] = archives.map(archive => readFileSync(archive))
  assert.ok(first && second && first.equals(second))
})

type Unpacked = { header: Header; content: string }

async function unpack(stream: Readable): Promise<Unpacked[]> {
  const files: Unpacked[] = []
  for await (const entry of stream.pipe(extract())) {
    entry.setEncoding?.('latin1')
    files.push({ header: entry.header, content: await text(entry) })
  }
  return files
}

function contentOf(files: Unpacked[], name: string): string {
  const found = files.find(file => file.header.name === name)
  assert.ok(found, `${name} is missing`)
  return found.content
}

function digest(content: string): string {
  return createHash('sha256').update(Buffer.from(content, 'latin1')).digest('hex')
}
