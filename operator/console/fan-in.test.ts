/** What a page gets of the event streams of several routers. */
import assert from 'node:assert/strict'
import { addAbortSignal, Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { until } from '../../test/support/until.ts'
import type { Router } from './cluster-view.ts'
import { joinRouters } from './fan-in.ts'
import type { AskOptions, RouterClient } from './router-client.ts'

const POLL_MS = 1_000
const event = (id: string) => `id: ${id}\nevent: calls\ndata: {}\n\n`

/** `isOpen`: the answer does not end. */
type RouterAnswer = { statusCode: number; text: string; isOpen?: boolean }

/** `answer`: what a router answers to the request of the given number, from 1. */
function join(t: TestContext, answer: (address: string, at: number) => RouterAnswer) {
  const clock = createManualClock()
  const sent: { event: string; data: string; id?: string }[] = []
  const asked: { at: number; address: string; last: string | undefined }[] = []
  let routers: Router[] = []
  let open: Readable | undefined
  const client = {
    ask: async (address: string, _path: string, { headers, signal }: AskOptions) => {
      asked.push({ at: clock.now(), address, last: headers?.['last-event-id'] })
      const { statusCode, text, isOpen } = answer(address, asked.length)
      const body = addAbortSignal(signal, new Readable({ read() {} }))
      body.push(text)
      if (isOpen) open = body
      else body.push(null)
      return { statusCode, body }
    },
    close: async () => {},
  } as unknown as RouterClient
  const stop = new AbortController()
  t.after(() => stop.abort())
  const run = (lastEventId = '') =>
    void joinRouters(
      {
        ...{ client, authorization: undefined, lastEventId, clock, random: () => 1 },
        routers: () => routers,
        send: (event, data, id) => sent.push({ event, data, ...(id !== undefined && { id }) }),
      },
      stop.signal,
    )
  return {
    ...{ clock, sent, asked, run },
    /** Ends the answer that is open. */
    endOpen: () => open?.push(null),
    setRouters: (...pods: string[]) => {
      routers = pods.map(pod => ({ pod, address: `at-${pod}` }))
    },
  }
}

test('the id of an event names only routers that run, so that it does not grow with every rollout', async t => {
  const { run, setRouters, sent, asked, clock } = join(t, (_, at) => ({
    statusCode: 200,
    text: event(`${at}`),
  }))
  setRouters('new')
  run('old=7 older=8 new=3')
  await until(() => sent.some(({ id }) => id !== undefined))
  assert.deepEqual(sent.at(-1), { event: 'calls@new', data: '{}', id: 'new=1' })
  assert.equal(asked[0]?.last, '3')
  setRouters('newest')
  clock.advance(POLL_MS)
  await until(() => sent.some(({ event }) => event === 'calls@newest'))
  assert.doesNotMatch(sent.findLast(({ event }) => event === 'calls@newest')?.id ?? '', /new=/)
})

test('a router that goes on answering with an error is asked less and less often, until it answers with events', async t => {
  const { run, setRouters, asked, clock } = join(t, (_, at) =>
    at === 5 ? { statusCode: 200, text: event('1') } : { statusCode: 503, text: '' },
  )
  setRouters('one')
  run()
  for (let at = 1; at <= 7; at++) {
    while (asked.length < at) {
      await until(() => clock.pending() === 2 || asked.length >= at)
      if (asked.length < at) clock.advance(500)
    }
  }
  const waits = asked.slice(1).map(({ at }, index) => at - (asked[index]?.at ?? 0))
  assert.deepEqual(waits, [500, 1_000, 2_000, 4_000, 500, 1_000])
})

test('when the last router is gone, the page is told which routers are left, and that none is', async t => {
  const { run, setRouters, sent, clock } = join(t, () => ({ statusCode: 200, text: event('1') }))
  setRouters('one')
  run()
  await until(() => sent.some(({ event }) => event === 'calls@one'))
  setRouters()
  clock.advance(POLL_MS)
  await until(() => sent.at(-1)?.event === 'unreachable')
  assert.deepEqual(sent.at(-2), { event: 'routers', data: '{"pods":[]}' })
  assert.match(sent.at(-1)?.data ?? '', /No router of this gateway is ready/)
})

test('a router that does not answer is not reported while another one does', async t => {
  let isOpen = true
  const one = () => (isOpen ? { statusCode: 200, text: event('1'), isOpen } : { statusCode: 503, text: '' })
  const { run, setRouters, sent, asked, clock, endOpen } = join(t, address =>
    address === 'at-one' ? one() : { statusCode: 503, text: '' },
  )
  setRouters('one')
  run()
  await until(() => sent.some(({ event }) => event === 'calls@one'))
  setRouters('one', 'two')
  clock.advance(POLL_MS)
  await until(() => asked.some(({ address }) => address === 'at-two') && clock.pending() === 2)
  assert.ok(!sent.some(({ event }) => event === 'unreachable'))
  isOpen = false
  endOpen()
  await until(() => clock.pending() === 3)
  clock.advance(POLL_MS)
  await until(() => sent.some(({ event }) => event === 'unreachable'))
})

test('of an error that does not end, only its beginning is read', async t => {
  const { run, setRouters, sent } = join(t, () => ({
    statusCode: 500,
    text: 'a'.repeat(70_000),
    isOpen: true,
  }))
  setRouters('one')
  run()
  await until(() => sent.some(({ event }) => event === 'unreachable'))
  assert.equal(sent.at(-1)?.data, '{"error":"The router answered with HTTP 500."}')
})
