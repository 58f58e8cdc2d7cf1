/** When the rights of a subscription are checked again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCaller } from '../../../core/mcp/caller.ts'
import { ANONYMOUS } from '../../../core/mcp/identity.ts'
import { createFixture, GATEWAY } from '../../../test/meta/fixture.ts'
import { until } from '../../../test/support/until.ts'
import type { View } from '../../access/view.ts'
import type { RouterObserver } from '../../observer.ts'
import { wordsOf } from '../profiles/profiles.ts'
import { createTurns } from '../turns.ts'
import { subscribe } from './subscribe.ts'

const URI = 'file:///docs/one'
const DOCS = {
  offers: { capabilities: { resources: { subscribe: true } }, resources: [{ name: 'one', uri: URI }] },
}

/** A view with one rule that grants these resources, and how often they were read. */
function grants(allow: string[]) {
  const read = { count: 0 }
  const everything = { allow: ['*'], deny: [] }
  const tools = { ...everything, readOnly: false }
  const rule = {
    ...{
      name: 'docs',
      subjects: [],
      servers: ['docs'],
      tools,
      prompts: everything,
      scopes: [],
      challenge: false,
    },
    get resources() {
      read.count++
      return { allow, deny: [] }
    },
  }
  /** Equal, as after a change of the catalog that leaves the rules as they are. */
  const view = (): View => ({ key: '0;', granting: [rule], challenging: [], most: tools })
  return { view, read }
}

test('rights are checked again only if the rules changed, each check in a turn of its own', async () => {
  const { catalog, pool } = createFixture({ docs: DOCS })
  const first = grants(['file:///docs/*'])
  const none = grants(['file:///other/*'])
  let now = { ...catalog(), view: first.view() }
  let changed = Promise.withResolvers<void>()
  async function* watch() {
    for (;;) {
      await changed.promise
      yield now
    }
  }
  const turns = createTurns()
  const turned = { count: 0 }
  const dependencies = {
    ...{ catalog: now, catalogOf: () => now, watch, pool, words: wordsOf(GATEWAY) },
    observer: { called() {}, missed() {} } as unknown as RouterObserver,
    turns: <T>(step: () => T) => turns(step).finally(() => turned.count++),
  }
  const change = (next: typeof now) => {
    const before = changed
    now = next
    changed = Promise.withResolvers()
    before.resolve()
  }
  const stop = new AbortController()
  const life = { signal: stop.signal, identity: () => ANONYMOUS, end: () => stop.abort() }
  const subscription = { uri: `docs|${URI}`, caller: createCaller({}), onUpdate() {} }
  assert.deepEqual(await subscribe(dependencies, GATEWAY, subscription, life), { result: {} })
  change({ ...now, view: first.view() })
  await until(() => turned.count === 1)
  const { count } = first.read
  for (const expected of [2, 3]) {
    change({ ...now, view: first.view() })
    await until(() => turned.count === expected)
  }
  assert.equal(first.read.count, count)
  assert.ok(!stop.signal.aborted)
  change({ ...now, view: none.view() })
  await until(() => stop.signal.aborted)
})

test('a subscription ends when its server is removed, though the rules are the same', async () => {
  const { catalog, pool } = createFixture({ docs: DOCS })
  const { view } = grants(['file:///docs/*'])
  let now = { ...catalog(), view: view() }
  const steps: (() => unknown)[] = []
  const changed = Promise.withResolvers<void>()
  async function* watch() {
    yield now
    await changed.promise
    yield now
  }
  const dependencies = {
    ...{ catalog: now, catalogOf: () => now, watch, pool, words: wordsOf(GATEWAY) },
    observer: { called() {}, missed() {} } as unknown as RouterObserver,
    turns: async <T>(step: () => T) => {
      steps.push(step)
      return step()
    },
  }
  const stop = new AbortController()
  const life = { signal: stop.signal, identity: () => ANONYMOUS, end: () => stop.abort() }
  const subscription = { uri: `docs|${URI}`, caller: createCaller({}), onUpdate() {} }
  await subscribe(dependencies, GATEWAY, subscription, life)
  await until(() => steps.length === 1)
  assert.ok(!stop.signal.aborted)
  now = { ...now, servers: new Map() }
  changed.resolve()
  await until(() => stop.signal.aborted)
})
