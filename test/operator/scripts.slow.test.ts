/** Reviewed scripts from manifest to what routers are fed and what their status says, against a real API server and real MCP servers. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { V1ConfigMap } from '@kubernetes/client-node'
import { decodeFeed } from '../../core/catalog/feed-text.ts'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import { API_VERSION } from '../../crds/object-meta.ts'
import type { McpScript } from '../../crds/script.ts'
import { type ApiServer, skipApiServer, startApiServer } from '../support/api-server.ts'
import { until } from '../support/until.ts'
import { startReplay } from '../upstreams/replay/replay.ts'
import { conditionOf, createWorld, type World } from './world.ts'

const skip = skipApiServer()
const catalog = {
  name: 'tracker',
  protocolVersion: '2025-11-25',
  serverInfo: { name: 'tracker', version: '1' },
  capabilities: { tools: {} },
  tools: [{ name: 'list_issues', description: 'Lists issues', inputSchema: { type: 'object' } }],
}

let api: ApiServer
let replay: Awaited<ReturnType<typeof startReplay>>

before(
  async () => {
    if (skip) return
    api = await startApiServer()
    replay = await startReplay({ catalogs: [catalog] })
  },
  { timeout: 120_000 },
)
after(() => Promise.all([api?.stop(), replay?.close()]))

test('a script is offered by the gateways that run scripts and select it, and its status says what is wrong', {
  skip,
}, async t => {
  const world = await createWorld(t, api.access, 'scripts')
  await world.server('tracker', { remote: { url: replay.url('tracker') } })
  await world.gateway('tools')
  await apply(world, 'count', 'return (await tools.tracker.list_issues({})).length')
  await untilReason(world, 'count', 'CodeNotEnabled', /McpGateway tools runs no scripts/)
  assert.equal((await feedOf(world))?.config.scripts, undefined)

  await world.gateway('tools', { code: { enabled: true } } as never)
  const { status } = await untilReason(world, 'count', 'Ready', /Offered by tools/)
  assert.deepEqual([status?.gateways, status?.tools], [['tools'], ['tracker:list_issues']])
  await offered(world, ['count'])

  await apply(world, 'count', 'return tools.tracker.list_isues({})')
  await untilReason(world, 'count', 'ToolNotFound', /calls tracker:list_isues/)
  await apply(world, 'count', 'return ((')
  const broken = await untilReason(world, 'count', 'NotAccepted', /Accepted/)
  assert.match(
    conditionOf(broken.status as never, 'Accepted')?.message ?? '',
    /spec\.code: is no script that runs/,
  )
  await offered(world, undefined)

  const selecting = { enabled: true, scripts: { selector: { matchLabels: { reviewed: 'yes' } } } }
  await world.gateway('tools', { code: selecting } as never)
  await apply(world, 'count', 'return 1')
  await untilReason(world, 'count', 'NoGateway', /selects it/)
  await apply(world, 'count', 'return 1', { reviewed: 'yes' })
  await untilReason(world, 'count', 'Ready', /Offered by tools/)
  await offered(world, ['count'])
  const { apiVersion, kind } = SCRIPT
  await world.client.delete({ apiVersion, kind, namespace: world.namespace, name: 'count' })
  await offered(world, undefined)
})

const SCRIPT = { apiVersion: API_VERSION, kind: 'McpScript' }

function apply(world: World, name: string, code: string, labels: Record<string, string> = {}) {
  const spec = { description: 'Counts issues', code }
  return world.apply({ ...SCRIPT, metadata: { name, labels }, spec } as KubeObject)
}

/** Waits until the condition Ready has this reason and message for the newest generation of the script. */
function untilReason(world: World, name: string, reason: string, message: RegExp): Promise<McpScript> {
  return until(`McpScript ${name} is ${reason}`, async () => {
    const found = await world.get<KubeObject>(API_VERSION, 'McpScript', name)
    const script = found as unknown as McpScript | undefined
    const ready = conditionOf(script?.status, 'Ready')
    const isNow = ready?.observedGeneration === script?.metadata.generation
    if (script && isNow && ready?.reason === reason && message.test(ready.message)) return script
    throw new Error(JSON.stringify(script?.status, null, 1))
  })
}

async function feedOf(world: World) {
  const map = await world.get<Kube<V1ConfigMap>>('v1', 'ConfigMap', 'tools-router')
  return map?.binaryData?.feed ? decodeFeed(Buffer.from(map.binaryData.feed, 'base64')) : undefined
}

/** Waits until the routers are fed these scripts. */
async function offered(world: World, names: string[] | undefined): Promise<void> {
  await until(`the scripts of the feed are ${names}`, async () => {
    assert.deepEqual(
      (await feedOf(world))?.config.scripts?.map(({ name }) => name),
      names,
    )
    return true
  })
}
