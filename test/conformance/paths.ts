/** The paths on which the suite reaches the fixture, each made of real processes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundleFile } from '../../scripts/bundle.ts'
import { createWorkspace } from '../support/manifests.ts'
import { startBridgeProcess, startGateway, startScript } from '../support/processes.ts'
import { startTokenProxy } from './token-proxy.ts'

export type Path = { url: string; stop(): Promise<void> }

export const FIXTURE = 'test/conformance/fixture/main.ts'
const OWN_ROUTE = '/servers/fixture/mcp'

/** All that start on a machine without a cluster. */
export const PATHS = {
  /** The fixture itself, over HTTP. */
  direct: () => startFixture(),
  /** router → HTTP, on the server's own route */
  server: () => throughHttp(OWN_ROUTE),
  /** router → HTTP, among the tools of a gateway */
  gateway: () => throughHttp('/mcp'),
  /** token → rules → router → HTTP, among the tools of a gateway */
  callers: () => throughRules(),
  /** router → a child of its own for each session */
  stdio: () => throughChildren(),
  /** router → bridge → a child for each session */
  bridge: () => throughBridge(),
} satisfies Record<string, () => Promise<Path>>

export type PathName = keyof typeof PATHS

async function startFixture(): Promise<Path> {
  const { ready, stop } = await startScript<{ url: string }>([FIXTURE, 'http'])
  return { url: ready.url, stop }
}

async function throughHttp(route: string, beside: readonly object[] = []): Promise<Path> {
  const fixture = await startFixture()
  return startPath(route, { remote: { url: fixture.url } }, fixture, beside)
}

const TOKEN = 'a-token-of-the-conformance-suite-0123'
const GUARDED = [
  {
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpGateway',
    metadata: { name: 'guarded' },
    spec: {
      auth: { tokens: { secretName: 'callers' } },
      access: [{ name: 'suite', subjects: [{ kind: 'Token', name: 'suite' }] }],
      rateLimits: [{ per: 'Caller', requests: 100_000, every: '1m' }],
    },
  },
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'callers' }, stringData: { suite: TOKEN } },
]

/** The suite knows of no tokens: a proxy adds its own. */
async function throughRules(): Promise<Path> {
  const path = await throughHttp('/mcp', GUARDED)
  const { origin, pathname } = new URL(path.url)
  const proxy = await startTokenProxy(origin, TOKEN)
  const stop = async () => {
    await proxy.stop()
    await path.stop()
  }
  return { url: `${proxy.origin}${pathname}`, stop }
}

async function throughChildren(): Promise<Path> {
  const { command, env, stop } = await quickFixture()
  return startPath(OWN_ROUTE, { command, env, sessions: 'perClient' }, { stop })
}

async function throughBridge(): Promise<Path> {
  const { command, env, folder, ...fixture } = await quickFixture()
  const options = ['--sessions', 'perClient', '--name', 'fixture']
  const variables = Object.fromEntries(env.map(({ name, value }) => [name, value]))
  const bridge = await startBridgeProcess(options, command, folder, variables)
  const stop = async () => {
    await bridge.stop()
    await fixture.stop()
  }
  return startPath(OWN_ROUTE, { remote: { url: `${bridge.url}/mcp` }, sessions: 'perClient' }, { stop })
}

/** Over stdio, in one file that is compiled once: a client of 2026 has a child for each call, and the suite gives some calls half a second. */
async function quickFixture() {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-fixture-'))
  const main = join(folder, 'main.js')
  await bundleFile(FIXTURE, main)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  return {
    command: { run: process.execPath, args: [main, 'stdio'] },
    env: [{ name: 'NODE_COMPILE_CACHE', value: join(folder, 'compiled') }],
    folder,
    stop: async () => rmSync(folder, { recursive: true }),
  }
}

/** Starts a gateway whose one server is the fixture. `behind` is stopped with it; `beside` are other manifests. */
async function startPath(
  route: string,
  spec: object,
  behind?: { stop(): Promise<void> },
  beside: readonly object[] = [],
): Promise<Path> {
  const space = createWorkspace()
  space.write('fixture', spec)
  for (const [at, manifest] of beside.entries())
    writeFileSync(join(space.folder, `beside-${at}.yaml`), JSON.stringify(manifest))
  const args = ['--servers', '--profile', 'direct']
  const gateway = await startGateway([space.folder], { cache: space.cache, args })
  return {
    url: `${gateway.url}${route}`,
    async stop() {
      await gateway.stop()
      await behind?.stop()
      space.remove()
    },
  }
}
