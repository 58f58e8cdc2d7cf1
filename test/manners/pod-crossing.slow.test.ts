/**
 * Two pods with their own routers learn nothing of what only the other may use: neither from their routers, nor at the admin port of the
 * gateway, which these call. Over HTTP, against running routers.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import type { AuthConfig } from '../../core/catalog/access-config.ts'
import { OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import { createLog } from '../../core/log.ts'
import { createConnector } from '../../core/mcp/client/connector.ts'
import { ANONYMOUS, type Identity } from '../../core/mcp/identity.ts'
import { startRouter } from '../../router/router.ts'
import { createGatewaySource } from '../../router/source/gateway-source.ts'
import { createInProcessSource } from '../../router/source/in-process-source.ts'
import { type Attempt, attempts, leaks } from '../front/access-attempts.ts'
import { initialize, modernised, PROFILES, rule, SERVERS, send } from '../front/access-router.ts'
import { echo, snapshotOf, upstreamOf } from '../meta/fixture.ts'
import { until } from '../support/until.ts'

const AUTH: AuthConfig = {
  anonymous: false,
  jwt: [],
  serviceAccounts: { audiences: ['portolan'], namespaces: ['team'] },
  revoked: [],
}
const PODS = { red: 'vermilion', blue: 'cobalt' } as const
type Pod = keyof typeof PODS
const COLOURS = Object.keys(PODS) as Pod[]
const log = createLog({ level: 'silent' })

function account(name: string): Identity {
  const subject = `system:serviceaccount:team:${name}`
  return Object.freeze({ ...ANONYMOUS, id: `serviceaccount:team:${name}`, kind: 'serviceAccount', subject })
}
const ACCOUNTS: Readonly<Record<string, Identity>> = { red: account('red'), blue: account('blue') }

async function startGateway(t: TestContext) {
  const source = createInProcessSource()
  const reached: { server: string; by: string }[] = []
  const router = await startRouter({
    source,
    connect: ({ name }) =>
      upstreamOf((call, signal) => {
        reached.push({ server: name, by: call.caller.identity.subject })
        return echo(call, signal)
      }),
    host: '127.0.0.1',
    port: 0,
    log,
    admin: {
      host: '127.0.0.1',
      port: 0,
      pod: 'tools-gateway-0',
      gateway: 'tools',
      missing: () => [],
      authenticate: async shown =>
        ACCOUNTS[shown?.replace('Bearer ', '') ?? ''] ?? {
          status: 401,
          reason: 'UnknownToken',
          message: 'No.',
        },
    },
  })
  t.after(() => router.close(0))
  const rules = COLOURS.map(name =>
    rule(name, PODS[name], { subjects: [{ kind: 'ServiceAccount', namespace: 'team', name }] }),
  )
  const config = { access: { ...OPEN_ACCESS, auth: AUTH, rules }, allowedProfiles: [...PROFILES] }
  source.publish(snapshotOf(SERVERS, config, 1))
  await until(() => router.catalog())
  return { admin: `http://127.0.0.1:${router.adminAddress?.port}`, reached }
}

/** The router beside the containers of a pod. */
async function startSidecar(t: TestContext, url: string, pod: Pod) {
  const token = async () => pod
  const stop = new AbortController()
  const source = createGatewaySource({ url, token, log })
  const connect = createConnector({
    secret: () => undefined,
    gateway: { url, token },
    clock: systemClock,
  })
  const router = await startRouter({ source, connect, host: '127.0.0.1', port: 0, log })
  const running = source.run(stop.signal)
  t.after(async () => {
    await router.close(0)
    stop.abort()
    await running
  })
  await until(() => (router.catalog()?.tools.length ?? 0) > 0)
  return new URL(router.url).origin
}

type Where = { origin: string; path: string; token?: string }

/** Sends the request in both eras; resolves with both answers and their headers. */
async function ask({ origin, path, token }: Where, request: Attempt): Promise<string> {
  const { message, headers } = modernised(request)
  const answers = [
    await send(origin, request, { path, token }),
    await send(origin, message, { path, token, headers }),
  ]
  return answers.map(answer => `${answer.text} ${[...answer.headers].flat().join(' ')}`).join('\n')
}

for (const pod of COLOURS)
  test(`the pod ${pod} learns nothing of what only the other may use, from its router or at the admin port`, async t => {
    const other = COLOURS.find(one => one !== pod) as Pod
    const [own, canary] = [PODS[pod], PODS[other]]
    const { admin, reached } = await startGateway(t)
    const sidecar = await startSidecar(t, admin, pod)
    const places: Where[] = [
      ...PROFILES.map(profile => ({ origin: sidecar, path: `/mcp/${profile}` })),
      ...[own, canary].flatMap(server => {
        const path = `/servers/${server}/mcp`
        return [
          { origin: sidecar, path },
          { origin: admin, path, token: pod },
        ]
      }),
    ]
    for (const where of places)
      for (const request of [initialize as Attempt, ...attempts(canary)]) {
        const answer = await ask(where, request)
        assert.ok(
          !leaks(answer, canary, { request, path: where.path }),
          `${where.path} ${JSON.stringify(request)}`,
        )
      }
    for (const path of ['/catalog', '/catalog/servers/x', `/servers/${canary}/mcp`]) {
      const answer = await fetch(`${admin}${path}`, { headers: { authorization: `Bearer ${pod}` } })
      assert.ok(!leaks(`${[...answer.headers].join()} ${await answer.text()}`, canary, { path }), path)
    }
    assert.deepEqual(
      reached.filter(({ server }) => server === canary),
      [],
    )
    const call = {
      method: 'tools/call',
      params: { name: 'execute_mcp_tool', arguments: { tool_path: `${own}:${own}_get`, arguments: {} } },
    }
    await ask({ origin: sidecar, path: '/mcp' }, call)
    assert.ok(reached.some(({ server, by }) => server === own && by.endsWith(`:${pod}`)))
  })
