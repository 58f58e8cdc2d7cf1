/** Questions of upstreams of the 2025 era, over streamable HTTP and SSE: who gets them, and how they end. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CallOptions, callOf } from '../../../../test/support/call.ts'
import { until } from '../../../../test/support/until.ts'
import { ANSWERS, CAN_ALL, type Kind, QUESTIONS } from '../../../../test/upstreams/asking/questions.ts'
import { startAskingLegacy } from '../../../../test/upstreams/http/asking-legacy.ts'
import { type Behaviour, type Message, startRude, stream } from '../../../../test/upstreams/http/rude.ts'
import { systemClock } from '../../../async.ts'
import { Fault } from '../../../errors.ts'
import type { JsonObject, JsonValue } from '../../../json.ts'
import type { Ask } from '../../caller.ts'
import { ANONYMOUS } from '../../identity.ts'
import type { Upstream } from '../../upstream.ts'
import { connectRemote } from '../connect.ts'
import type { RemoteSpec } from './spec.ts'

const never = new AbortController().signal
const KINDS = Object.keys(QUESTIONS) as Kind[]
const RESULT = { content: [] }

type Test = { after(run: () => Promise<unknown>): void }

async function asking(t: Test, transport: RemoteSpec['transport'], sessions: RemoteSpec['sessions']) {
  const server = await startAskingLegacy(transport)
  return { server, upstream: upstreamOf(t, server, transport, sessions) }
}

function upstreamOf(
  t: Test,
  server: { url: string; close(): Promise<void> },
  transport: RemoteSpec['transport'],
  sessions: RemoteSpec['sessions'],
): Upstream {
  const spec = { url: server.url, transport, sessions, startTimeoutMs: 5_000 }
  const upstream = connectRemote(spec, { clock: systemClock })
  t.after(() => Promise.all([upstream.close(), server.close()]))
  return upstream
}

/** A client that answers questions and records them. */
function client(asked: string[] = []): { asked: string[]; ask: Ask } {
  const ask: Ask = async ({ method, params }) => {
    asked.push(method)
    const kind = KINDS.find(
      one => QUESTIONS[one].method === method && (QUESTIONS[one].params as JsonObject).mode === params?.mode,
    )
    return kind ? { result: ANSWERS[kind] } : { error: { code: 1, message: 'what?' } }
  }
  return { asked, ask }
}

async function call(upstream: Upstream, name: string, args: JsonObject, more: CallOptions = {}) {
  const params = { name, arguments: args }
  const { result } = await upstream.request(callOf({ params, ...more }), never)
  const [content] = (result?.content ?? []) as { text: string }[]
  return JSON.parse(content?.text ?? 'null') as JsonValue
}

const kinds = KINDS.join(' ')
const everything = KINDS.map(kind => ANSWERS[kind])

test('questions of a shared server reach the caller of that call, if the caller declared the capability', async t => {
  const { upstream } = await asking(t, 'streamable-http', 'shared')
  const [ann, bob] = [client(), client()]
  const can = { capabilities: CAN_ALL }
  const answers = await Promise.all([
    call(upstream, 'ask', { kinds }, { ...can, ask: ann.ask }),
    call(upstream, 'ask', { kinds: 'roots' }, { ...can, ask: bob.ask }),
  ])
  assert.deepEqual(answers, [everything, [ANSWERS.roots]])
  assert.equal(ann.asked.length, 4)
  assert.deepEqual(bob.asked, ['roots/list'])
  assert.deepEqual(await call(upstream, 'declared', {}, can), CAN_ALL)
  assert.deepEqual(await call(upstream, 'declared', {}), {})
})

test('a question to a caller that declared nothing is refused', async t => {
  const { upstream } = await asking(t, 'streamable-http', 'shared')
  const { asked, ask } = client()
  const [answer] = (await call(upstream, 'ask', { kinds: 'form' }, { ask })) as { failed: string }[]
  assert.match(answer?.failed ?? '', /did not declare|not support/)
  assert.deepEqual(asked, [])
})

test("a question outside of a call's stream goes to the only call in flight, and is refused if there are several", async t => {
  const { upstream } = await asking(t, 'streamable-http', 'shared')
  const { asked, ask } = client()
  const more = { capabilities: CAN_ALL, ask }
  const askOutside = () => call(upstream, 'ask', { kinds: 'roots', outside: true }, more)
  assert.deepEqual(await askOutside(), [ANSWERS.roots])
  const answers = (await Promise.all([askOutside(), askOutside()])) as { failed?: string }[][]
  for (const [answer] of answers) if (answer?.failed) assert.match(answer.failed, /cannot be asked now/)
  assert.ok(answers.some(([answer]) => answer?.failed))
  assert.ok(asked.length < 3)
})

test("a question outside of a call's stream is refused once several callers have used the session", async t => {
  const { upstream } = await asking(t, 'streamable-http', 'shared')
  const { asked, ask } = client()
  const of = (id: string) => ({ capabilities: CAN_ALL, ask, identity: { ...ANONYMOUS, id } })
  const askOutside = (id: string) => call(upstream, 'ask', { kinds: 'roots', outside: true }, of(id))
  for (const _ of [1, 2]) assert.deepEqual(await askOutside('token:red'), [ANSWERS.roots])
  const [answer] = (await askOutside('token:blue')) as { failed?: string }[]
  assert.deepEqual([/cannot be asked now/.test(answer?.failed ?? ''), asked.length], [true, 2])
})

test('no capabilities are declared on an SSE stream that callers share', async t => {
  const { upstream } = await asking(t, 'sse', 'shared')
  const { asked, ask } = client()
  const more = { capabilities: CAN_ALL, ask }
  const [answer] = (await call(upstream, 'ask', { kinds: 'roots' }, more)) as { failed: string }[]
  assert.match(answer?.failed ?? '', /did not declare|not support/)
  assert.deepEqual(asked, [])
})

for (const transport of ['streamable-http', 'sse'] as const) {
  test(`each client of a server over ${transport} is asked on its own session, within its call or outside`, async t => {
    const { upstream } = await asking(t, transport, 'perClient')
    const clients = [client(), client()]
    const ask = (who: number, outside: boolean) =>
      call(
        upstream,
        'ask',
        { kinds, outside },
        {
          client: `client ${who}`,
          capabilities: CAN_ALL,
          ask: clients[who]?.ask,
        },
      )
    // Opens the sessions, and the streams for messages outside of calls.
    await Promise.all([ask(0, false), ask(1, false)])
    await until(() => clients.every(({ asked }) => asked.length === 4))
    const answers = await Promise.all([ask(0, true), ask(1, true)])
    assert.deepEqual(answers, [everything, everything])
    for (const { asked } of clients) assert.equal(asked.length, 8)
  })

  test(`aborting a call over ${transport} ends its questions`, async t => {
    const { upstream } = await asking(t, transport, 'perClient')
    const abort = new AbortController()
    const asked = Promise.withResolvers<AbortSignal>()
    const ask: Ask = (_request, signal) => {
      asked.resolve(signal)
      return new Promise(() => {})
    }
    const params = { name: 'ask', arguments: { kinds: 'form' } }
    const more = { client: 'ann', capabilities: CAN_ALL, ask, maxBytes: 1e6 }
    const waiting = upstream.request(callOf({ params, ...more }), abort.signal)
    const signal = await asked.promise
    abort.abort()
    await assert.rejects(waiting, { code: 'cancelled' })
    assert.ok(signal.aborted)
  })
}

test("without a call in flight, questions and messages go to the client's listener", async t => {
  const { server, upstream } = await asking(t, 'sse', 'perClient')
  const notified: string[] = []
  const { promise: question, resolve } = Promise.withResolvers<string>()
  upstream.attach?.({
    notified: (who, { method }) => notified.push(`${who} ${method}`),
    asked: async (who, { method }) => {
      resolve(`${who} ${method}`)
      return { result: ANSWERS.roots }
    },
  })
  await call(upstream, 'declared', {}, { client: 'ann', capabilities: CAN_ALL })
  server.askAll('roots')
  assert.equal(await question, 'ann roots/list')
  await server.heard.logged('answered roots')
  upstream.tell?.('ann', { method: 'notifications/roots/list_changed' })
  await server.heard.logged('roots changed')
  // Progress of a call that has ended would be taken for that of another call.
  await server.say('notifications/progress')
  await server.say('notifications/message')
  await until(() => notified.length > 0)
  assert.deepEqual(notified, ['ann notifications/message'])
})

test('the error for a client that cannot be asked says so', async t => {
  const { upstream } = await asking(t, 'streamable-http', 'perClient')
  const more = { client: 'ann', capabilities: CAN_ALL }
  const [none] = (await call(upstream, 'ask', { kinds: 'form' }, more)) as { failed: string }[]
  assert.match(none?.failed ?? '', /cannot be asked now/)
  const ask: Ask = async () => {
    throw new Fault('cancelled', 'It left')
  }
  const [left] = (await call(upstream, 'ask', { kinds: 'form' }, { ...more, ask })) as { failed: string }[]
  assert.match(left?.failed ?? '', /gave no answer: It left/)
  const refusing: Ask = async () => ({ error: { code: -1, message: 'User says no' } })
  const [no] = (await call(upstream, 'ask', { kinds: 'form' }, { ...more, ask: refusing })) as {
    failed: string
  }[]
  assert.match(no?.failed ?? '', /User says no/)
})

for (const transport of ['streamable-http', 'sse'] as const)
  test(`answers in a call to an older server over ${transport} are refused, not dropped`, async t => {
    const { server, upstream } = await asking(t, transport, 'shared')
    for (const more of [{ requestState: 'x' }, { inputResponses: {} }] as JsonObject[]) {
      const params = { name: 'declared', ...more }
      const { error } = await upstream.request(callOf({ params }), never)
      assert.equal(error?.code, -32602)
    }
    assert.ok(!server.log.entries.includes('POST tools/call'))
  })

test('the log level is set before a call, once, and for a shared server to the most verbose one', async t => {
  const { server, upstream } = await asking(t, 'streamable-http', 'shared')
  const levels = async (logLevel: string | undefined) => {
    const heard: unknown[] = []
    await call(upstream, 'log', {}, { logLevel, notify: ({ params }) => heard.push(params?.data) })
    return heard
  }
  for (const level of ['error', 'error', 'critical']) assert.deepEqual(await levels(level), ['error'])
  assert.deepEqual(await levels('debug'), ['debug', 'error'])
  await levels('error')
  assert.equal(server.log.entries.filter(entry => entry === 'POST logging/setLevel').length, 2)
})

const event = (message: object) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
const asks = (id: string, more: JsonObject = {}) => event({ id, method: 'elicitation/create', params: more })

async function rude(t: Test, behaviour: Behaviour) {
  const replies: Message[] = []
  const server = await startRude({
    'tools/call': behaviour,
    '': (response, message) => {
      replies.push(message)
      response.writeHead(202).end()
    },
  })
  return { server, replies, upstream: upstreamOf(t, server, 'streamable-http', 'shared') }
}

test('of 10,000 questions at once the first few are asked, and the call is answered', async t => {
  const { upstream, replies } = await rude(
    t,
    stream((response, { id }) => {
      for (let at = 0; at < 10_000; at++) response.write(asks(`q${at}`))
      response.end(event({ id, result: RESULT }))
    }),
  )
  let asked = 0
  const aborted: AbortSignal[] = []
  const ask: Ask = (_request, signal) => {
    asked++
    aborted.push(signal)
    return new Promise(() => {})
  }
  await call(upstream, 'any', {}, { capabilities: CAN_ALL, ask })
  assert.equal(asked, 16)
  assert.ok(aborted.every(signal => signal.aborted))
  await until(() => replies.length > 0)
  assert.ok(replies.every(reply => /Too many questions/.test(JSON.stringify(reply))))
})

test('a question that is too large is refused, one after the result is not asked, and a second answer is ignored', async t => {
  const { upstream, replies } = await rude(
    t,
    stream((response, { id }) => {
      response.write(asks('large', { message: 'x'.repeat(5_000_000) }))
      response.write(event({ id, result: RESULT }))
      response.end(asks('late') + event({ id, result: { content: [1] } }))
    }),
  )
  const { asked, ask } = client()
  const answer = await upstream.request(
    callOf({ params: { name: 'any' }, maxBytes: 1e8, capabilities: CAN_ALL, ask }),
    never,
  )
  assert.deepEqual(answer.result, RESULT)
  assert.deepEqual(asked, [])
  await until(() => replies.length === 1)
  assert.match(JSON.stringify(replies), /too large/)
})

test('a question that the server withdraws ends without an answer', async t => {
  const { promise: asked, resolve } = Promise.withResolvers<AbortSignal>()
  const { promise: withdrawn, resolve: over } = Promise.withResolvers<void>()
  const { upstream, replies } = await rude(
    t,
    stream((response, { id }) => {
      response.write(asks('q'))
      void asked.then(signal => {
        signal.addEventListener('abort', () => over())
        response.write(event({ method: 'notifications/cancelled', params: { requestId: 'q' } }))
      })
      void withdrawn.then(() => response.end(event({ id, result: RESULT })))
    }),
  )
  const ask: Ask = (_request, signal) => {
    resolve(signal)
    return new Promise(() => {})
  }
  await call(upstream, 'any', {}, { capabilities: CAN_ALL, ask })
  assert.deepEqual(replies, [])
})
