/** Servers behind a gateway of two routers, each on its own route, reached from this machine. */
import type { McpServerSpecInput } from '../../../crds/server.ts'
import { FIXTURES, gateway, server } from './manifests.ts'
import type { Portolan } from './portolan.ts'

const HTTP_PORT = 80

export type Exposed = {
  /** The origin of the gateway, at a port of 127.0.0.1. */
  origin: string
  stop(): void
}

/** Resolves once all of them are ready and served; the namespace is deleted after `test`. */
export async function exposeAll(
  { namespace, cluster }: Portolan,
  name: string,
  specs: Record<string, McpServerSpecInput>,
  test?: Parameters<Portolan['namespace']>[1],
): Promise<Exposed> {
  const space = await namespace(name, test)
  const servers = Object.entries(specs).map(([each, spec]) => server(each, spec))
  await space.apply(...servers, gateway('tools', { expose: { servers: true } }))
  await space.untilReady(...Object.keys(specs))
  await space.untilServing('tools', { ready: servers.length })
  const service = { namespace: space.name, name: 'tools-gateway', port: HTTP_PORT }
  const { port, stop } = await cluster.forward(service)
  return { origin: `http://127.0.0.1:${port}`, stop }
}

/** The conformance fixture in a pod behind the bridge. Its compiled code is cached, because the suite allows some calls only half a second, including the start of a child. */
export function stdioFixture(era: string): McpServerSpecInput {
  return {
    image: { name: FIXTURES, command: ['node', '/fixtures/main.js', 'conformance-stdio', era] },
    env: [{ name: 'NODE_COMPILE_CACHE', value: '/tmp/compiled' }],
    sessions: 'perClient',
  }
}
