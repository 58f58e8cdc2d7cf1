/** Calls that wait for a server: one attempt for all, bounded, and reported to listeners; with a manual clock. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '../../core/errors.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { MAX_WAITING, TRY_EVERY_MS, WakeRequests } from './wake-requests.ts'

const WITHIN_MS = 60_000
const turn = () => new Promise(resolve => setImmediate(resolve))

function start() {
  const clock = createManualClock(Date.UTC(2026, 0, 1))
  const waited: string[] = []
  const begun: string[] = []
  const wakes = new WakeRequests({
    clock,
    onWaiting: server => begun.push(server),
    onWaited: (server, outcome, ms) => waited.push(`${server} ${outcome} ${ms}`),
  })
  let isUp = false
  let tries = 0
  const reach = async () => {
    tries++
    return isUp
  }
  const fault = () => new Fault('upstream_asleep', 'not woken')
  let refused: Fault | undefined
  const refusal = () => refused
  const hold = (
    signal = new AbortController().signal,
    wanted: { server: string; instance?: string } = { server: 'a' },
    firstTryMs = 0,
  ) => wakes.hold(wanted, { reach, withinMs: WITHIN_MS, fault, refusal, firstTryMs }, signal)
  const refuse = (why: Fault) => {
    refused = why
  }
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += TRY_EVERY_MS) {
      clock.advance(TRY_EVERY_MS)
      await turn()
    }
  }
  return { clock, wakes, begun, waited, hold, pass, refuse, tries: () => tries, wake: () => (isUp = true) }
}

test('a server that answers at once is not reported as waited for', async () => {
  const { wakes, hold, wake, begun, waited } = start()
  wake()
  let changes = 0
  wakes.onChange(() => changes++)
  await hold()
  assert.deepEqual([wakes.list(), changes, begun, waited], [[], 0, [], []])
})

test('many callers of a server cause one entry in the status and one attempt every 100 ms, and continue together', async () => {
  const { wakes, hold, pass, tries, wake, begun, waited } = start()
  const all = Promise.all(Array.from({ length: 200 }, () => hold()))
  await turn()
  assert.deepEqual(begun, ['a'])
  assert.deepEqual(wakes.list(), [{ server: 'a', since: '2026-01-01T00:00:00.000Z' }])
  await pass(1_000)
  assert.equal(tries(), 11)
  wake()
  await pass(100)
  await all
  assert.deepEqual(wakes.list(), [])
  assert.equal(waited.length, 200)
  assert.equal(waited[0], 'a woken 1100')
})

test('each instance of a server is waited for separately', async () => {
  const { wakes, hold } = start()
  const leaving = new AbortController()
  const both = [hold(leaving.signal), hold(leaving.signal, { server: 'a', instance: 'u-1' })]
  await turn()
  assert.deepEqual(
    wakes.list().map(({ server, instance }) => [server, instance]),
    [
      ['a', undefined],
      ['a', 'u-1'],
    ],
  )
  leaving.abort()
  await Promise.allSettled(both)
})

test('an instance whose Service may not exist yet is reported before the first attempt', async () => {
  const { wakes, hold, pass, tries, wake } = start()
  const held = hold(undefined, { server: 'a', instance: 'u-1' }, 700)
  await turn()
  assert.deepEqual([wakes.list().length, tries()], [1, 0])
  wake()
  await pass(700)
  await held
  assert.deepEqual([wakes.list(), tries()], [[], 1])
})

test('if it is known that a server will not start, all calls that wait for it are rejected with the reason', async () => {
  const { wakes, hold, pass, refuse, waited } = start()
  const calls = [hold(), hold()]
  await turn()
  const why = new Fault('user_refused', 'full')
  refuse(why)
  const ended = Promise.allSettled(calls)
  await pass(100)
  assert.deepEqual(await ended, [
    { status: 'rejected', reason: why },
    { status: 'rejected', reason: why },
  ])
  assert.deepEqual([wakes.list(), waited], [[], ['a failed 100', 'a failed 100']])
})

test('a caller that disconnects no longer counts as waiting, but the others do', async () => {
  const { wakes, hold, waited } = start()
  const [first, second] = [new AbortController(), new AbortController()]
  const calls = [hold(first.signal), hold(second.signal)]
  await turn()
  first.abort()
  await assert.rejects(calls[0] as Promise<void>, { code: 'cancelled' })
  assert.equal(wakes.list().length, 1)
  second.abort()
  await assert.rejects(calls[1] as Promise<void>, { code: 'cancelled' })
  assert.deepEqual(wakes.list(), [])
  assert.deepEqual(waited, ['a left 0', 'a left 0'])
})

test('a call whose server is not woken in time is rejected', async () => {
  const { wakes, hold, pass, waited } = start()
  const call = hold()
  call.catch(() => {})
  await pass(WITHIN_MS)
  await assert.rejects(call, { code: 'upstream_asleep' })
  assert.deepEqual([wakes.list(), waited], [[], ['a failed 60000']])
})

test('a call beyond the limit of waiting calls is refused, until others have ended', async () => {
  const { hold } = start()
  const leaving = new AbortController()
  const calls = Array.from({ length: MAX_WAITING }, () => hold(leaving.signal))
  await assert.rejects(hold(), { code: 'upstream_busy' })
  leaving.abort()
  await Promise.allSettled(calls)
  const again = new AbortController()
  const one = hold(again.signal)
  again.abort()
  await assert.rejects(one, { code: 'cancelled' })
})

test('listeners are called for each change until they unsubscribe', async () => {
  const { wakes, hold } = start()
  const seen: number[] = []
  const stop = wakes.onChange(() => seen.push(wakes.list().length))
  const leaving = new AbortController()
  const call = hold(leaving.signal)
  await turn()
  leaving.abort()
  await assert.rejects(call)
  assert.deepEqual(seen, [1, 0])
  stop()
})
