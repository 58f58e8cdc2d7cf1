/** How long a resource subscription of a 2025 session lasts: over HTTP, against a running router. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { CHECK_EVERY_MS } from '../../core/mcp/server/subscriptions.ts'
import type { Subscription, Upstream } from '../../core/mcp/upstream.ts'
import { echo, upstreamOf } from '../meta/fixture.ts'
import { until } from '../support/until.ts'
import { withIssuer } from './access-issuer.ts'
import { BLUE, initialize, NOW, RED, rule, SERVERS, send, start } from './access-router.ts'
import { readEvents } from './event-reader.ts'

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const OFFERS = { ...SERVERS.vermilion?.offers, capabilities: { resources: { subscribe: true } } }
const SUBSCRIBABLE = { vermilion: { ...SERVERS.vermilion, offers: OFFERS } }
const URI = 'vermilion|file:///vermilion/one'

/** Keeps its subscriptions, so that a test can send updates. */
function subscribable(): { upstream: Upstream; subscribed: { to: Subscription; signal: AbortSignal }[] } {
  const subscribed: { to: Subscription; signal: AbortSignal }[] = []
  return {
    subscribed,
    upstream: {
      ...upstreamOf(echo),
      async subscribe(to, signal) {
        subscribed.push({ to, signal })
        return { result: {} }
      },
    },
  }
}

test('a subscription sends no updates of resources that its caller may not read, and ends with the rule', async t => {
  const { upstream, subscribed } = subscribable()
  const docs = { allow: ['file:///vermilion/*'], deny: ['file:///vermilion/secret*'] }
  const granted = { rules: [rule('red', 'vermilion', { resources: docs })] }
  const { origin, change } = await start(t, granted, {}, echo, SUBSCRIBABLE, { connect: () => upstream })
  const uri = 'file:///vermilion/one'
  const begun = await send(origin, initialize, { token: RED })
  const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
  const stream = await readEvents(t, `${origin}/mcp`, { ...bearer(RED), ...session })
  const ask = async (method: string, asked: string, token = RED, headers: object = session) =>
    JSON.parse(
      (await send(origin, { method, params: { uri: asked } }, { token, headers: { ...headers } })).text,
    )
  assert.ok((await ask('resources/subscribe', 'vermilion|file:///vermilion/secret')).error)
  assert.deepEqual((await ask('resources/subscribe', `vermilion|${uri}`)).result, {})
  assert.equal(subscribed.length, 1)
  const update = (of: string) =>
    subscribed[0]?.to.onUpdate({ method: 'notifications/resources/updated', params: { uri: of } })
  update('file:///vermilion/secret/plans')
  update('file:///vermilion/one/part')
  const updates = [await stream.next(), await stream.next()]
  assert.doesNotMatch(JSON.stringify(updates), /secret/)
  assert.match(JSON.stringify(updates[0]), /vermilion\|file:\/\/\/vermilion\/one/)
  assert.match(JSON.stringify(updates[1]), /vermilion\+file:\/\/\/vermilion\/one\/part/)
  assert.equal((await ask('resources/unsubscribe', `vermilion|${uri}`, BLUE)).error.code, -32001)
  assert.equal(subscribed[0]?.signal.aborted, false)
  await change({ rules: [rule('red', 'vermilion', { resources: { allow: [], deny: [] } })] }, 2, SUBSCRIBABLE)
  await until(() => subscribed[0]?.signal.aborted)
})

/** A session that members of the group dev can subscribe in, and what its stream receives after an update. */
async function sessionOf(t: TestContext) {
  const { upstream, subscribed } = subscribable()
  const issued = await withIssuer(t, {}, {}, SUBSCRIBABLE, { connect: () => upstream })
  const { sign, origin } = issued
  const tokenOf = (groups: string[], lifeMs: number) => sign({ groups, exp: (NOW + lifeMs) / 1_000 })
  const long = await tokenOf(['dev'], HOUR_MS)
  const begun = await send(origin, initialize, { token: long })
  const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
  const stream = await readEvents(t, `${origin}/mcp`, { ...bearer(long), ...session })
  const ask = async (token: string, method: string, params: object = {}) =>
    JSON.parse((await send(origin, { method, params }, { token, headers: session })).text)
  const subscribe = (token: string) => ask(token, 'resources/subscribe', { uri: URI })
  const update = () =>
    subscribed.at(-1)?.to.onUpdate({ method: 'notifications/resources/updated', params: {} })
  return { ...issued, tokenOf, long, stream, ask, subscribe, update, subscribed }
}

const HOUR_MS = 60 * 60_000
const MINUTE_MS = 60_000
const SKEW_MS = 30_000

test('a subscription lasts while a rule grants the resource, even if the lists of its server have nothing granted', async t => {
  const { upstream, subscribed } = subscribable()
  const docs = { allow: ['file:///vermilion/*'], deny: [] }
  const granted = { rules: [rule('red', 'vermilion', { resources: docs })] }
  const { origin, change } = await start(t, granted, {}, echo, SUBSCRIBABLE, { connect: () => upstream })
  const begun = await send(origin, initialize, { token: RED })
  const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
  const stream = await readEvents(t, `${origin}/mcp`, { ...bearer(RED), ...session })
  await send(
    origin,
    { method: 'resources/subscribe', params: { uri: URI } },
    { token: RED, headers: session },
  )
  const nothing = { ...OFFERS, tools: [], resources: [], resourceTemplates: [], prompts: [] }
  await change(granted, 2, { vermilion: { ...SUBSCRIBABLE.vermilion, offers: nothing } })
  const uri = 'file:///vermilion/one'
  subscribed[0]?.to.onUpdate({ method: 'notifications/resources/updated', params: { uri } })
  assert.equal(subscribed[0]?.signal.aborted, false)
  let event = ''
  while (!event.includes('resources/updated')) event = JSON.stringify(await stream.next())
  assert.match(event, /vermilion\|file:\/\/\/vermilion\/one/)
})

test('no update is sent after a request whose newer token may not read the resource; a later subscription works', async t => {
  const { tokenOf, long, stream, ask, subscribe, update, subscribed } = await sessionOf(t)
  const without = await tokenOf([], HOUR_MS + MINUTE_MS)
  assert.deepEqual((await subscribe(long)).result, {})
  assert.deepEqual((await ask(without, 'ping')).result, {})
  update()
  assert.equal(subscribed[0]?.signal.aborted, true)
  assert.deepEqual((await subscribe(long)).result, {})
  assert.equal(subscribed.length, 2)
  update()
  assert.equal((await stream.next())?.method, 'notifications/resources/updated')
  await ask(long, 'resources/unsubscribe', { uri: URI })
  assert.equal(subscribed[1]?.signal.aborted, true)
})

test('once the token of the newest request has expired, no updates are sent until a request with a valid one', async t => {
  const { tokenOf, clock, long, stream, ask, subscribe, subscribed } = await sessionOf(t)
  assert.deepEqual((await subscribe(await tokenOf(['dev'], MINUTE_MS))).result, {})
  const update = (part: string) =>
    subscribed[0]?.to.onUpdate({
      method: 'notifications/resources/updated',
      params: { uri: `file:///vermilion/one/${part}` },
    })
  clock.advance(MINUTE_MS + SKEW_MS)
  update('missed')
  await ask(long, 'ping')
  update('sent')
  assert.match(JSON.stringify(await stream.next()), /one\/sent/)
})

test('a subscription whose token has expired ends within ten minutes', async t => {
  const { tokenOf, clock, long, ask, subscribe, subscribed } = await sessionOf(t)
  await subscribe(await tokenOf(['dev'], MINUTE_MS))
  clock.advance(2 * CHECK_EVERY_MS)
  assert.equal(subscribed[0]?.signal.aborted, true)
  await subscribe(await tokenOf(['dev'], 20 * MINUTE_MS))
  await ask(long, 'ping')
  clock.advance(2 * CHECK_EVERY_MS)
  assert.equal(subscribed[1]?.signal.aborted, false)
})

test('a subscription ends when its rule comes to need scopes that the token lacks, even if the rule challenges', async t => {
  const { long, config, change, subscribe, subscribed } = await sessionOf(t)
  await subscribe(long)
  const [dev] = config.rules
  await change(
    { ...config, rules: [{ ...(dev ?? assert.fail()), scopes: ['more'], challenge: true }] },
    2,
    SUBSCRIBABLE,
  )
  await until(() => subscribed[0]?.signal.aborted)
})
