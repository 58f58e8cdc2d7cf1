/** The suite of modelcontextprotocol.io, and every feature of MCP, through a cluster: two routers, Services, pods, bridges, a child for each session. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent, fetch as undiciFetch } from 'undici'
import type { McpServerSpecInput } from '../../../crds/server.ts'
import { CLIENT_KINDS, openClient } from '../../conformance/cells/clients.ts'
import { FEATURES } from '../../conformance/cells/features.ts'
import type { Kind } from '../../conformance/cells/servers.ts'
import { judge } from '../../conformance/judge.ts'
import { ALL, reportOn } from '../../conformance/passing.ts'
import { REVISIONS, testServer } from '../../conformance/suite.ts'
import { exposeAll, stdioFixture } from '../support/exposed.ts'
import { FIXTURES } from '../support/manifests.ts'
import type { Stories } from '../support/story.ts'

const FIXTURE_PORT = 3_000
/** Of one conversation; a changed list goes through the operator. */
const FEATURE_LIMIT_MS = 30_000

const KINDS: readonly (Kind & { spec: McpServerSpecInput })[] = [
  {
    name: 'http-2025',
    modern: false,
    shared: true,
    asks: true,
    transport: 'http',
    spec: {
      image: {
        name: FIXTURES,
        args: ['conformance-http', 'legacy', `${FIXTURE_PORT}`],
        transport: 'http',
        port: FIXTURE_PORT,
      },
    },
  },
  {
    name: 'pod-2025',
    modern: false,
    shared: false,
    asks: true,
    transport: 'bridge',
    spec: stdioFixture('legacy'),
  },
  {
    name: 'pod-2026',
    modern: true,
    shared: false,
    asks: true,
    transport: 'bridge',
    spec: stdioFixture('modern'),
  },
]

export const conformanceStories: Stories = (running, options) => {
  test('a gateway of two routers in front of a pod conforms to both revisions', options, async t => {
    const { origin, stop } = await exposeAll(running(), 'conformance', { fixture: stdioFixture('both') }, t)
    t.after(stop)
    const url = `${origin}/servers/fixture/mcp`
    for (const revision of REVISIONS) {
      await t.test(revision, async t => judge(t, 'cluster', revision, await testServer(url, revision)))
      assert.deepEqual(await reportOn(url, revision), { ...ALL, headers: {} })
    }
  })

  test('every feature of MCP works through two routers, whichever gets a request', options, async t => {
    const specs = Object.fromEntries(KINDS.map(({ name, spec }) => [name, spec]))
    const { origin, stop } = await exposeAll(running(), 'cells', specs, t)
    t.after(stop)
    for (const kind of KINDS) {
      for (const clientKind of CLIENT_KINDS) {
        const client = await openClient(clientKind, `${origin}/servers/${kind.name}/mcp`, {
          fetch: fetchOnNewConnection,
        })
        const cell = { client, kind }
        for (const feature of FEATURES.filter(({ where }) => where?.(cell) ?? true)) {
          const title = `${clientKind}, ${kind.name}: ${feature.does}`
          await t.test(title, { timeout: FEATURE_LIMIT_MS }, () => feature.run(cell))
        }
        await client.close()
      }
    }
  })
}

/** Opens a connection for each request, so that the Service may send each to another router. */
const fetchOnNewConnection = ((url, init) => {
  const dispatcher = new Agent({ connections: 1, pipelining: 0 })
  return undiciFetch(url as string, { ...(init as object), dispatcher })
}) as typeof fetch
