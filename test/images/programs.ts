/** Images of the tests' programs: upstream servers, a client, and one with a single static program. */
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { bundleFile } from '../../scripts/bundle.ts'
import type { Image, Layer } from '../cluster/image.ts'
import { defaultCatalogs } from '../upstreams/replay/catalogs.ts'
import { NODE, nodeLayer } from './runtimes.ts'

const RUDE = join(import.meta.dirname, '..', 'upstreams', 'rude')

/** Servers over HTTP and stdio. The rude server is `node /fixtures/rude/server.mjs MODE`. */
export async function fixturesImage(folder: string): Promise<Image> {
  const main = join(folder, 'main.js')
  await bundleFile(join(import.meta.dirname, 'fixtures', 'main.ts'), main)
  const catalogs = defaultCatalogs().map(catalog => [
    `/fixtures/catalogs/${catalog.name}.json`,
    { content: JSON.stringify(catalog) },
  ])
  const rude = readdirSync(RUDE)
    .filter(file => file.endsWith('.mjs'))
    .map(file => [`/fixtures/rude/${file}`, { from: join(RUDE, file) }])
  const fixtures: Layer = { ...Object.fromEntries([...catalogs, ...rude]), ...script('/fixtures', main) }
  return {
    reference: 'portolan-test/fixtures:1',
    layers: [nodeLayer(), fixtures],
    entrypoint: [NODE, '/fixtures/main.js'],
  }
}

export async function clientImage(folder: string): Promise<Image> {
  const main = join(folder, 'main.js')
  await bundleFile(join(import.meta.dirname, 'client', 'main.ts'), main)
  return {
    reference: 'portolan-test/client:1',
    layers: [nodeLayer(), script('/client', main)],
    entrypoint: [NODE, '/client/main.js'],
  }
}

/** An image that contains a single file. */
export async function scratchImage(folder: string): Promise<Image> {
  const server = join(folder, 'server')
  const flags = ['-trimpath', '-buildvcs=false', '-ldflags=-s -w -buildid=']
  execFileSync('go', ['build', ...flags, '-o', server, '.'], {
    cwd: join(import.meta.dirname, 'scratch'),
    env: { ...process.env, CGO_ENABLED: '0' },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return {
    reference: 'portolan-test/scratch:1',
    layers: [{ '/server': { from: server } }],
    entrypoint: ['/server'],
  }
}

function script(folder: string, main: string): Layer {
  return {
    [`${folder}/main.js`]: { from: main },
    [`${folder}/package.json`]: { content: '{"type":"module"}' },
  }
}
