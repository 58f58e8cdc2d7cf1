/** The pod of a user with TLS, called as routers call it: by the pod's own host name, with the certificate of the server. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { get } from 'node:https'
import type { LookupFunction } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startBridge } from '../../bridge/bridge.ts'
import { systemClock } from '../../core/async.ts'
import { endpointOf } from '../../core/catalog/endpoint.ts'
import { instanceBearer, instanceEndpoint, instanceRevision } from '../../core/catalog/instances.ts'
import { createLog } from '../../core/log.ts'
import { createConnector } from '../../core/mcp/client/connector.ts'
import { type User, userNamed } from '../../core/mcp/user.ts'
import { API_VERSION } from '../../crds/object-meta.ts'
import { mcpServerSchema } from '../../crds/server.ts'
import { createSelfSigned } from '../../operator/runtime/self-signed.ts'
import { callOf } from '../support/call.ts'
import { until } from '../support/until.ts'
import { rudeCommand } from '../upstreams/rude/rude.ts'

const TOKEN = 'token-of-the-server'
const SERVER = mcpServerSchema.parse({
  apiVersion: API_VERSION,
  kind: 'McpServer',
  metadata: { name: 'kit', namespace: 'team' },
  spec: { image: { name: 'kit:1', command: ['/kit'] }, sessions: 'perUser', tls: true },
})

test("a user's call is answered by the user's own pod, over TLS", async t => {
  const { call, asked } = await start(t, 'mcp-kit.team.svc')
  assert.equal(await call('ada'), 'x')
  assert.deepEqual(new Set(asked), new Set([`mcp-kit-u-${userOf('ada').id}.team.svc`]))
  await assert.rejects(call('ben'), { code: 'upstream_auth_required' })
})

test('a pod with the certificate of another server is not called', async t => {
  const { call } = await start(t, 'mcp-other.team.svc')
  await assert.rejects(call('ada'), { code: 'upstream_unreachable' })
})

/** The pod of the user `ada`; the certificate is for `host`. */
async function start(t: TestContext, host: string) {
  const { cert, key } = await createSelfSigned(host, Date.now())
  const ada = userOf('ada')
  const folder = mkdtempSync(join(tmpdir(), 'portolan-user-tls-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  file('tls.crt', cert)
  file('tls.key', key)
  const bridge = await startBridge(
    {
      host: '127.0.0.1',
      port: 0,
      name: 'kit',
      sessions: 'shared',
      idleAfterMs: 60_000,
      bearerFile: file('token', instanceBearer(TOKEN, ada.digest)),
      instance: instanceRevision(ada.digest),
      tlsFolder: folder,
      command: { ...rudeCommand('polite'), startTimeoutMs: 10_000 },
    },
    { clock: systemClock, log: createLog({ level: 'silent' }), random: () => 0 },
  )
  t.after(() => bridge.close(0))
  await until(() => isReady(bridge.port))
  const asked: string[] = []
  /** Resolves every name to this machine. */
  const lookup: LookupFunction = (name, { all }, callback) => {
    asked.push(name)
    if (all) callback(null, [{ address: '127.0.0.1', family: 4 }])
    else callback(null, '127.0.0.1', 4)
  }
  const connect = createConnector({
    clock: systemClock,
    secret: () => ({ token: TOKEN, 'ca.crt': cert }),
    guard: { check: () => {}, lookup },
  })
  const call = async (name: string) => {
    const user = userOf(name)
    const given = endpointOf(SERVER, 'cluster')
    assert.ok(given.kind === 'http')
    const url = given.url.replace('.svc/', `.svc:${bridge.port}/`)
    const endpoint = instanceEndpoint('kit', { ...given, url }, user, undefined)
    const upstream = connect({
      name: 'kit',
      sessions: 'perUser',
      limits: { startTimeoutMs: 10_000 },
      endpoint,
    })
    t.after(() => upstream.close())
    const params = { name: 'echo', arguments: { text: 'x' } }
    const answer = await upstream.request(callOf({ params }), AbortSignal.timeout(20_000))
    return (answer.result as { content: { text: string }[] } | undefined)?.content[0]?.text
  }
  return { call, asked }
}

/** As the kubelet asks, which checks no certificate. */
async function isReady(port: number): Promise<boolean> {
  const asking = get({ host: '127.0.0.1', port, path: '/readyz', rejectUnauthorized: false })
  const [response] = (await once(asking, 'response')) as [IncomingMessage]
  response.resume()
  return response.statusCode === 200
}

function userOf(name: string): User {
  const user = userNamed(`token#${name}`)
  assert.ok(user)
  return user
}
