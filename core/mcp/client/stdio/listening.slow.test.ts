/** Children of the 2026 era that end `subscriptions/listen` by themselves, but go on running. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { until } from '../../../../test/support/until.ts'
import { rudeCommand, textOf, toolCall } from '../../../../test/upstreams/rude/rude.ts'
import { OURSELVES } from '../../caller.ts'
import type { McpResponse } from '../../protocol/json-rpc.ts'
import type { UpstreamCall } from '../../upstream.ts'
import { ChildSession } from './child-session.ts'
import { createStdioUpstream } from './stdio-upstream.ts'

const { signal } = new AbortController()
const ONE = 'note://one'
const TWO = 'note://two'
const ACCEPTED = { result: {} }
/** With `random: () => 0`. */
const PAUSES = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]
const HOUR = 3_600_000
/** Less than the first pause, and enough for the timers of a child that has ended. */
const CHILD_TIMERS_MS = 400

const command = (way: string) => ({ ...rudeCommand('ends-listens', way), startTimeoutMs: HOUR })

/** Calls the tools of the rude server, which listening-modes.mjs documents. */
function toolsAt(request: (call: UpstreamCall) => Promise<McpResponse>) {
  const call = async (name: string, args: Record<string, string | number> = {}) =>
    textOf(await request(toolCall(name, args)))
  /** What was asked for since the last time. Everything that was ready to be sent before is included. */
  let known = 0
  const listens = async (): Promise<string[]> => {
    await turn()
    const all: string[] = JSON.parse(await call('listens'))
    const since = all.slice(known).sort()
    known = all.length
    return since
  }
  return { call, listens }
}

/** A session with a server that does WAY with listens, ended after the test. */
async function open(t: TestContext, way = 'polite') {
  const clock = createManualClock()
  const heard: string[] = []
  const logged: unknown[] = []
  const session = new ChildSession(
    { ...command(way), shared: true },
    {
      ...{ clock, random: () => 0, memory: {} },
      log: {
        info: (fields, message) => logged.push([message, fields]),
        warn: (fields, message) => logged.push([message, fields]),
      },
      onListChanged: list => heard.push(list),
      onNotification: ({ params }) => heard.push(String(params?.uri)),
    },
  )
  t.after(() => session.stop())
  await session.ready
  const { call, listens } = toolsAt(request => session.request(request, signal))
  const pauses = (count: number) => until(() => clock.pending() === count)
  return { session, clock, heard, logged, call, listens, pauses }
}

const ENDS: Record<string, string | number>[] = [{}, { code: -32000 }, { code: 'garbage' }]
for (const end of ENDS)
  test(`a listen that the server ends with ${JSON.stringify(end)} is renewed after a pause, and missed changes are assumed`, async t => {
    const { session, clock, heard, logged, call, listens, pauses } = await open(t)
    assert.deepEqual(await session.subscribe(ONE, signal), ACCEPTED)
    assert.deepEqual(await listens(), ['lists', ONE])
    await call('end', end)
    assert.ok(await pauses(2))
    clock.advance(499)
    assert.deepEqual(await listens(), [])
    clock.advance(1)
    assert.deepEqual(await listens(), ['lists', ONE])
    assert.deepEqual(heard.splice(0).sort(), [ONE, 'tools'])
    await call('touch', { uri: ONE })
    await call('grow')
    assert.deepEqual(heard, [ONE, 'tools'])
    const fields = { code: end.code === -32000 ? -32000 : undefined }
    assert.deepEqual(logged, [['server ended subscriptions/listen; it is asked again', fields]])
  })

for (const way of ['at-once', 'no-acknowledgement'])
  test(`the pauses grow up to a limit if the server ends every listen ${way}, until a listen lasts`, async t => {
    const { session, clock, call, listens, pauses, logged } = await open(t)
    await call('way', { to: way })
    assert.equal((await session.subscribe(ONE, signal)).error, undefined)
    await listens()
    for (const pause of PAUSES) {
      assert.ok(await pauses(1))
      clock.advance(pause - 1)
      assert.deepEqual(await listens(), [])
      clock.advance(1)
      assert.deepEqual(await listens(), [ONE])
    }
    assert.ok(await pauses(1))
    await call('way', { to: 'polite' })
    clock.advance(30_000)
    assert.deepEqual(await listens(), [ONE])
    clock.advance(30_001)
    assert.equal(logged.length, 1)
    await call('end')
    assert.ok(await pauses(2))
    clock.advance(500)
    assert.deepEqual(await listens(), ['lists', ONE])
  })

test('a server that says that it does not know the method is not asked again, which is logged once', async t => {
  const { session, clock, logged, call, listens, pauses } = await open(t)
  for (const uri of [ONE, TWO]) await session.subscribe(uri, signal)
  await call('end')
  assert.ok(await pauses(3))
  await call('way', { to: 'unknown' })
  clock.advance(500)
  assert.deepEqual(await listens(), ['lists', ONE, TWO, 'lists', ONE, TWO].sort())
  clock.advance(HOUR)
  assert.deepEqual([await listens(), clock.pending(), logged.length], [[], 0, 2])
  assert.deepEqual(logged[1], ['server no longer knows subscriptions/listen; its changes are not heard', {}])
})

test('a listen that ends with the error that the method is unknown is not renewed', async t => {
  const { session, clock, logged, call, listens } = await open(t)
  await session.subscribe(ONE, signal)
  await call('end', { code: -32601 })
  assert.deepEqual([await listens(), clock.pending(), logged.length], [['lists', ONE], 0, 1])
})

for (const way of ['nothing', 'busy', 'garbage'])
  test(`a renewal that the server refuses (${way}) is repeated, and leaves nothing open`, async t => {
    const { session, clock, heard, call, listens, pauses } = await open(t)
    await session.subscribe(ONE, signal)
    await listens()
    await call('end')
    assert.ok(await pauses(2))
    await call('way', { to: way })
    clock.advance(500)
    assert.deepEqual(await listens(), ['lists', ONE])
    assert.ok(await pauses(2))
    clock.advance(999)
    await call('way', { to: 'polite' })
    assert.deepEqual([await listens(), heard], [[], []])
    clock.advance(1)
    assert.deepEqual(await listens(), ['lists', ONE])
    assert.deepEqual(heard.splice(0).sort(), [ONE, 'tools'])
    await call('touch', { uri: ONE })
    assert.deepEqual(heard, [ONE])
  })

test('a first listen for lists is asked for again only if that may help', async t => {
  const busy = await open(t, 'busy')
  assert.ok(await busy.pauses(1))
  busy.clock.advance(500)
  assert.deepEqual(await busy.listens(), ['lists', 'lists'])
  for (const way of ['nothing', 'unknown']) {
    const { clock, listens, logged } = await open(t, way)
    assert.deepEqual([await listens(), clock.pending(), logged], [['lists'], 0, []])
  }
})

test('a first listen for a resource that is refused is not asked for again', async t => {
  const { session, clock, call, listens } = await open(t)
  await listens()
  for (const [way, code] of [
    ['nothing', -32602],
    ['busy', -32000],
    ['unknown', -32601],
  ] as const) {
    await call('way', { to: way })
    assert.equal((await session.subscribe(ONE, signal)).error?.code, code)
    assert.deepEqual([await listens(), clock.pending()], [[ONE], 0])
  }
  await call('way', { to: 'garbage' })
  await assert.rejects(session.subscribe(ONE, signal), { code: 'upstream_protocol' })
  assert.deepEqual([await listens(), clock.pending()], [[ONE], 0])
})

test('nothing is renewed for what is unsubscribed during the pause, or once the session is over', async t => {
  const { session, clock, call, listens, pauses } = await open(t)
  for (const uri of [ONE, TWO]) await session.subscribe(uri, signal)
  await listens()
  await call('end')
  assert.ok(await pauses(3))
  session.unsubscribe(TWO)
  assert.ok(await pauses(2))
  clock.advance(500)
  assert.deepEqual(await listens(), ['lists', ONE])
  await call('end')
  assert.ok(await pauses(2))
  await session.stop()
  clock.advance(CHILD_TIMERS_MS)
  assert.equal(clock.pending(), 0)
})

test('a listen that ends because the server dies is not renewed by its session', async t => {
  const { session, clock, logged, call } = await open(t)
  await session.subscribe(ONE, signal)
  await assert.rejects(call('die'), { code: 'upstream_died' })
  await session.ended
  await turn()
  clock.advance(CHILD_TIMERS_MS)
  assert.deepEqual([clock.pending(), logged], [0, []])
})

test('a child that is restarted during the pause gets each listen once, and subscribers hear of changes again', async t => {
  const clock = createManualClock()
  const life = { sessions: 'shared' as const, idleAfterMs: HOUR, min: 0 }
  const upstream = createStdioUpstream({ ...command('polite'), ...life }, { clock, random: () => 0 })
  t.after(() => upstream.close())
  const updates: unknown[] = []
  const end = new AbortController()
  const onUpdate = () => void updates.push(ONE)
  assert.deepEqual(
    await upstream.subscribe?.({ uri: ONE, caller: OURSELVES, onUpdate }, end.signal),
    ACCEPTED,
  )
  const before = toolsAt(request => upstream.request(request, signal))
  assert.deepEqual(await before.listens(), ['lists', ONE])
  const timers = clock.pending()
  await before.call('end')
  await until(() => clock.pending() === timers + 2)
  await before.call('die').catch(() => {})
  await until(() => updates.length === 1)
  const after = toolsAt(request => upstream.request(request, signal))
  clock.advance(60_000)
  assert.deepEqual(await after.listens(), ['lists', ONE])
  await after.call('end')
  await until(() => clock.pending() === timers + 2)
  clock.advance(500)
  await until(() => updates.length === 2)
  await after.call('touch', { uri: ONE })
  assert.equal(updates.length, 3)
  assert.deepEqual(await after.listens(), ['lists', ONE])
  await after.call('end')
  await until(() => clock.pending() === timers + 2)
  end.abort()
  await until(() => clock.pending() === timers + 1)
  clock.advance(1_000)
  assert.deepEqual(await after.listens(), ['lists'])
})

/** Lets everything that is ready run. */
function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
