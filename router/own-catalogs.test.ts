/** The catalogs of users with lists of their own: built once for equal lists, kept up to date, and bounded. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Registry } from 'prom-client'
import type { ServerCatalog } from '../core/catalog/server-catalog.ts'
import { createLog } from '../core/log.ts'
import { createCaller } from '../core/mcp/caller.ts'
import { ANONYMOUS, type Identity } from '../core/mcp/identity.ts'
import { catalogOf, drive, snapshotOf } from '../test/meta/fixture.ts'
import { createManualClock } from '../test/support/manual-clock.ts'
import { buildCatalog, type Catalog } from './catalog/catalog.ts'
import { OwnCatalogs } from './own-catalogs.ts'
import { createSemantic } from './semantic/semantic.ts'
import { createSemanticMetrics } from './semantic/semantic-metrics.ts'
import { createNewest } from './source/newest.ts'

const person = (name: string): Identity => ({ ...ANONYMOUS, id: name, kind: 'token', subject: name })
const [ADA, BEN, CYD] = ['ada', 'ben', 'cyd'].map(person) as [Identity, Identity, Identity]
const tool = (name: string) => ({ name, description: `Does ${name}`, inputSchema: { type: 'object' } })
const listOf = (...tools: string[]) => catalogOf('own', { tools: tools.map(tool) })
const namesOf = ({ tools }: Catalog) => tools.map(({ path }) => path)

function start(t: TestContext, room?: number) {
  const clock = createManualClock()
  const lists = new Map<string, ServerCatalog>()
  const lines: string[] = []
  const log = createLog({ level: 'trace', destination: { write: line => void lines.push(line) } })
  const metrics = createSemanticMetrics(new Registry())
  const semantic = createSemantic({ log, clock, onVectors() {}, metrics })
  const served = createNewest<Catalog>()
  const pool = {
    listsOf: (_server: string, { subject }: Identity) => lists.get(subject),
    readLists: () => undefined,
  }
  const own = new OwnCatalogs({ served, pool, semantic, clock, log, room })
  const users = { max: 9, idleAfterMs: 1, ownLists: true } as const
  const publish = (generation: number, ...shared: string[]) => {
    const servers = {
      own: { server: { sessions: 'perUser' as const, users }, offers: { tools: shared.map(tool) } },
      rest: { offers: { tools: [tool('rest')] } },
    }
    const next = drive(buildCatalog(snapshotOf(servers, {}, generation), served.current()))
    served.publish(next)
    return next
  }
  const stop = new AbortController()
  t.after(() => stop.abort())
  void own.follow(stop.signal)
  return { own, lists, publish, clock, log: () => lines.join(''), stop }
}

test('users with equal lists share a catalog; a user whose lists equal the shared ones gets the shared catalog', async t => {
  const { own, lists, publish } = start(t)
  const whole = publish(1, 'a')
  lists.set('ada', listOf('a', 'b')).set('ben', listOf('a', 'b')).set('cyd', listOf('a'))
  const [ada, ben] = await Promise.all([own.built(whole, ADA), own.built(whole, BEN)])
  assert.equal(ada, ben)
  assert.deepEqual(namesOf(ada), ['own:a', 'own:b', 'rest:rest'])
  assert.equal(own.built(whole, CYD), whole)
  assert.equal(own.now(whole, ADA), ada)
  assert.equal(own.built(whole, ANONYMOUS), whole)
  assert.deepEqual(
    ada.index.search('does b', { limit: 1 }).hits.map(({ document }) => ada.tools[document]?.path),
    ['own:b'],
  )
})

test('a new shared catalog leads to a new one for a user, which keeps the index if the lists are the same', async t => {
  const { own, lists, publish } = start(t)
  lists.set('ada', listOf('b'))
  const before = await own.built(publish(1, 'a'), ADA)
  const whole = publish(2, 'a')
  assert.equal(own.now(whole, ADA), whole)
  const after = await own.soon(whole, createCaller({ identity: ADA }))
  assert.notEqual(after, before)
  assert.equal(after?.generation, 2)
  assert.equal(after?.index, before.index)
  const changed = publish(3, 'a', 'c')
  assert.deepEqual(namesOf(await own.built(changed, ADA)), ['own:b', 'rest:rest'])
  assert.equal(own.soon(changed, createCaller({ identity: ADA })), undefined)
})

test('without room a user gets the shared lists, which is logged, until another catalog is unused for a minute', async t => {
  const { own, lists, publish, clock, log } = start(t, 1_100)
  const whole = publish(1, 'a')
  lists.set('ada', listOf('b')).set('ben', listOf('c')).set('cyd', listOf('d'))
  const ada = await own.built(whole, ADA)
  const ben = await own.built(whole, BEN)
  assert.equal(await own.built(whole, CYD), whole)
  assert.match(log(), /no room for the catalog of another user/)
  clock.advance(59_999)
  assert.equal(own.now(whole, BEN), ben)
  assert.equal(await own.built(whole, CYD), whole)
  clock.advance(1)
  assert.deepEqual(namesOf(await own.built(whole, CYD)), ['own:d', 'rest:rest'])
  assert.equal(own.now(whole, BEN), ben)
  assert.equal(own.now(whole, ADA), whole)
  assert.deepEqual(namesOf(ada), ['own:b', 'rest:rest'])
})

const many = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => `${prefix}${at}`)

test('lists take the room that they need, however short the shared ones are', async t => {
  const { own, lists, publish, log } = start(t, 2_400)
  const whole = publish(1, 'a')
  lists
    .set('ada', listOf(...many('a', 500)))
    .set('ben', listOf(...many('b', 500)))
    .set('cyd', listOf('c'))
  assert.equal(namesOf(await own.built(whole, ADA)).length, 501)
  assert.equal(namesOf(await own.built(whole, CYD)).length, 2)
  assert.ok((await own.built(whole, BEN)) === whole)
  assert.match(log(), /no room for the catalog of another user/)
})

test('lists that are much longer than the shared ones are not used, which is logged at most once a minute', async t => {
  const { own, lists, publish, clock, log } = start(t, 2_400)
  lists.set('ada', listOf(...many('a', 602))).set('ben', listOf('b'))
  for (const generation of [1, 2]) {
    const whole = publish(generation, 'a')
    assert.ok(own.built(whole, ADA) === whole)
    assert.ok(own.now(whole, ADA) === whole)
    assert.deepEqual(namesOf(await own.built(whole, BEN)), ['own:b', 'rest:rest'])
  }
  const logged = () => [...log().matchAll(/"user":"(\w+)","msg":"the lists of a user are too long/g)].length
  assert.equal(logged(), 1)
  assert.doesNotMatch(log(), /no room/)
  clock.advance(60_000)
  own.built(publish(3, 'a'), ADA)
  assert.equal(logged(), 2)
  lists.set('ada', listOf(...many('a', 601)))
  assert.equal(namesOf(await own.built(publish(4, 'a'), ADA)).length, 602)
})

test('vectors that come while a catalog is built are added when it is used next', async t => {
  const { own, lists, publish } = start(t)
  lists.set('ada', listOf('b'))
  const whole = publish(1, 'a')
  const building = own.built(whole, ADA)
  // The build begins in the next microtask.
  await null
  own.renew()
  const built = await building
  assert.notEqual(built, whole)
  assert.equal(own.now(whole, ADA), whole, 'the catalog has to be built again')
  assert.notEqual(await own.built(whole, ADA), whole)
  assert.notEqual(own.now(whole, ADA), whole)
})

test('watchers are notified of new catalogs and of changed lists', async t => {
  const { own, publish, stop } = start(t)
  const first = publish(1, 'a')
  const seen = own.watch(stop.signal)[Symbol.asyncIterator]()
  assert.equal((await seen.next()).value, first)
  own.changed()
  assert.equal((await seen.next()).value, first)
  const second = publish(2, 'b')
  assert.equal((await seen.next()).value, second)
})
