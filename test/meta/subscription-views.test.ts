/** A subscription lasts as long as its caller may read the resource. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import { type AccessRule, OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import { createCaller } from '../../core/mcp/caller.ts'
import { createAccess } from '../../router/access/access.ts'
import { createLimits } from '../../router/access/limits.ts'
import type { Catalog } from '../../router/catalog/catalog.ts'
import { createHandler } from '../../router/meta/handler.ts'
import { createNewest } from '../../router/source/newest.ts'
import { createFixture, createWitness, GATEWAY } from './fixture.ts'

const NOTE = { uri: 'note://one', name: 'one' }
const SERVERS = { notes: { offers: { resources: [NOTE], capabilities: { resources: { subscribe: true } } } } }

function granting(allow: string[]): AccessRule {
  return {
    name: 'all',
    subjects: [],
    servers: ['notes'],
    tools: { allow: ['*'], deny: [], readOnly: false },
    resources: { allow, deny: [] },
    prompts: { allow: ['*'], deny: [] },
    scopes: [],
    challenge: false,
  }
}

/** A handler whose rules change, and how to subscribe to the note. */
function start(t: TestContext, rules: AccessRule[]) {
  const fixture = createFixture(SERVERS)
  const served = createNewest<Catalog>()
  const publish = (rules: AccessRule[]) => {
    fixture.reload(SERVERS, { access: { ...OPEN_ACCESS, rules } })
    served.publish(fixture.catalog())
  }
  publish(rules)
  const { pool } = fixture
  const { observer } = createWitness()
  const [access, limits] = [createAccess(), createLimits(systemClock)]
  const current = () => served.current() as Catalog
  const handler = createHandler({ current, watch: served.watch, access, limits, pool, observer })
  const stop = new AbortController()
  t.after(() => stop.abort())
  const subscription = { uri: 'notes+note://one', caller: createCaller({ client: 'anna' }), onUpdate() {} }
  const subscribe = () => {
    const ended = new AbortController()
    const life = {
      signal: AbortSignal.any([stop.signal, ended.signal]),
      identity: () => subscription.caller.identity,
      end: () => ended.abort(),
    }
    return handler.subscribe?.(GATEWAY, subscription, life)
  }
  return { publish, subscribe, subscribed: fixture.subscribed }
}

test('a subscription ends when its caller may no longer read the resource', async t => {
  const { publish, subscribe, subscribed } = start(t, [granting(['note://*'])])
  assert.deepEqual(await subscribe(), { result: {} })
  const { signal } = subscribed[0] ?? assert.fail()
  const ended = new Promise(resolve => signal.addEventListener('abort', resolve))
  publish([granting(['note://*', 'other://*'])])
  assert.equal(signal.aborted, false)
  publish([granting(['other://*'])])
  await ended
  const { error } = (await subscribe()) ?? {}
  assert.match(error?.message ?? '', /There is no resource/)
})

test('a subscription that began without rules ends when rules are added that do not grant the resource', async t => {
  const { publish, subscribe, subscribed } = start(t, [])
  assert.deepEqual(await subscribe(), { result: {} })
  const { signal } = subscribed[0] ?? assert.fail()
  const ended = new Promise(resolve => signal.addEventListener('abort', resolve))
  publish([])
  assert.equal(signal.aborted, false)
  publish([granting(['other://*'])])
  await ended
})
