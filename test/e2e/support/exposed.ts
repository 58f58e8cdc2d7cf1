/** Servers behind a gateway of two routers, each on a route of its own, reached from this machine. */
import type { McpServerSpecInput } from '../../../crds/server.ts'
import { FIXTURES, gateway, server } from './manifests.ts'
import type { Portolan } from './portolan.ts'

const HTTP_PORT = 80

export type Exposed = {
  /** The gateway's, of 127.0.0.1. */
  origin: string
  stop(): void
}

/** Resolves once all of them are ready and served; the namespace ends with `test`. */
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

/** The conformance fixture in a pod behind the bridge. Its code is compiled once: the suite gives some calls half a second, a child's start included. */
export function stdioFixture(era: string): McpServerSpecInput {
  return {
    image: { name: FIXTURES, command: ['node', '/fixtures/main.js', 'conformance-stdio', era] },
    env: [{ name: 'NODE_COMPILE_CACHE', value: '/tmp/compiled' }],
    sessions: 'perClient',
  }
}
