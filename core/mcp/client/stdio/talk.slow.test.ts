/** Questions and notifications of children of both eras, and who gets them. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type CallOptions, callOf } from '../../../../test/support/call.ts'
import { until } from '../../../../test/support/until.ts'
import {
  ANSWERS,
  askingCommand,
  CAN_ALL,
  type Kind,
  NOTE_URI,
} from '../../../../test/upstreams/asking/questions.ts'
import { rudeCommand, textOf, toolCall } from '../../../../test/upstreams/rude/rude.ts'
import { systemClock } from '../../../async.ts'
import type { JsonObject } from '../../../json.ts'
import { type Ask, OURSELVES } from '../../caller.ts'
import type { Notification } from '../../protocol/json-rpc.ts'
import { DISCOVERY_CLIENT, type UpstreamEvent } from '../../upstream.ts'
import type { CommandSpec } from './stdio-rpc.ts'
import { createStdioUpstream, type StdioSpec } from './stdio-upstream.ts'

const { signal } = new AbortController()
const LONG_MS = 3_600_000

function open(
  t: TestContext,
  command: Pick<CommandSpec, 'command' | 'args' | 'env'>,
  sessions: StdioSpec['sessions'] = 'perClient',
) {
  const life = { sessions, startTimeoutMs: LONG_MS, idleAfterMs: LONG_MS, min: 0 }
  const upstream = createStdioUpstream({ ...command, ...life }, { clock: systemClock, random: () => 0 })
  t.after(() => upstream.close())
  const call = async (name: string, args = {}, more: CallOptions = {}) =>
    textOf(await upstream.request(callOf({ ...toolCall(name, args), client: 'ann', ...more }), signal))
  const events: UpstreamEvent[] = []
  upstream.onEvent(event => events.push(event))
  return { upstream, call, events }
}

/** Gives the answers in `ANSWERS`, and records the questions. */
function answering() {
  const asked: string[] = []
  const ask: Ask = async ({ method, params }) => {
    asked.push(method)
    const kinds: Record<string, Kind> = { sampling: 'sampling', roots: 'roots' }
    const kind = kinds[method.split('/')[0] ?? ''] ?? (params?.mode === 'url' ? 'url' : 'form')
    return { result: ANSWERS[kind] }
  }
  return { ask, asked }
}

for (const kind of ['legacy', 'dual'] as const)
  test(`a client’s own ${kind} child asks during a call`, async t => {
    const { call } = open(t, askingCommand(kind))
    const { ask, asked } = answering()
    const caller = { ask, capabilities: CAN_ALL }
    assert.deepEqual(JSON.parse(await call('ask', { kinds: 'form url sampling roots' }, caller)), ANSWERS)
    assert.equal(asked.length, 4)
  })

test('a shared child of the newer era asks with input_required, and gets the responses', async t => {
  const { upstream } = open(t, askingCommand('modern'), 'shared')
  const call = callOf({ ...toolCall('ask', { kinds: 'roots' }), capabilities: CAN_ALL })
  const { result } = await upstream.request(call, signal)
  assert.equal(result?.resultType, 'input_required')
  assert.deepEqual(result?.inputRequests, { roots: { method: 'roots/list', params: {} } })
  const { requestState } = result ?? {}
  const params = { ...call.params, inputResponses: { roots: ANSWERS.roots }, requestState }
  assert.deepEqual(JSON.parse(textOf(await upstream.request({ ...call, params }, signal))), {
    roots: ANSWERS.roots,
  })
  const none = await upstream.request(toolCall('ask', { kinds: 'roots' }), signal)
  assert.equal(none.error?.code, -32021)
})

test('a child gets the capabilities of its client, and other questions are refused with a message', async t => {
  const { call } = open(t, askingCommand('legacy'))
  const { ask, asked } = answering()
  const caller = { ask, capabilities: { roots: {} } }
  assert.deepEqual(JSON.parse(await call('declared', {}, caller)), { roots: {} })
  const { form } = JSON.parse(await call('ask', { kinds: 'form' }, caller)) as Record<string, JsonObject>
  assert.match(String(form?.failed), /elicitation/)
  assert.deepEqual(asked, [])
})

test("between calls, a child's questions and notifications go to its client's listener", async t => {
  const { upstream, call } = open(t, rudeCommand('polite'))
  const heard: [string, string][] = []
  const { ask } = answering()
  upstream.attach?.({
    notified: (client, { method }) => heard.push([client, method]),
    asked: (client, request, end) => (client === 'ann' ? ask(request, end) : undefined),
  })
  const caller = { capabilities: CAN_ALL }
  const seen = (client: string, id: string) =>
    until(`${id} is seen by the child of ${client}`, async () => {
      const all: JsonObject[] = JSON.parse(await call('seen', {}, { ...caller, client }))
      return all.find(message => message.id === id)
    })
  for (const client of ['ann', 'bob']) {
    await call('say_later', { method: 'notifications/custom' }, { ...caller, client })
    await call('say_later', { method: 'roots/list', id: 'later' }, { ...caller, client })
  }
  assert.deepEqual((await seen('ann', 'later')).result, ANSWERS.roots)
  assert.equal(((await seen('bob', 'later')).error as JsonObject).code, -32601)
  assert.deepEqual(heard, [
    ['ann', 'notifications/custom'],
    ['bob', 'notifications/custom'],
  ])
})

test("a client's notifications reach its child, except those of the handshake", async t => {
  const { upstream, call } = open(t, rudeCommand('polite'))
  await call('pid')
  for (const method of ['initialized', 'cancelled', 'roots/list_changed'])
    upstream.tell?.('ann', { method: `notifications/${method}` })
  upstream.tell?.('eve', { method: 'notifications/roots/list_changed' })
  const seen: JsonObject[] = JSON.parse(await call('seen'))
  const methods = seen.map(({ method }) => method)
  assert.deepEqual(methods, ['notifications/initialized', 'notifications/roots/list_changed'])
})

test('10,000 questions at once are answered or refused, and the child keeps running', async t => {
  const warned = t.mock.method(process, 'emitWarning')
  const { call } = open(t, rudeCommand('polite'))
  const held = Promise.withResolvers<{ result: JsonObject }>()
  const ask = t.mock.fn<Ask>(() => held.promise)
  const caller = { ask, capabilities: CAN_ALL }
  assert.equal(await call('ask_many', { times: 10_000 }, caller), 'asked')
  const asked = ask.mock.callCount()
  assert.ok(asked > 0 && asked <= 512, String(asked))
  held.resolve({ result: ANSWERS.roots })
  const answered = async (kind: 'result' | 'error') => {
    const seen: JsonObject[] = JSON.parse(await call('seen', {}, { ...caller, maxBytes: 10_000_000 }))
    return seen.filter(message => message[kind]).length
  }
  await until(async () => (await answered('result')) >= asked)
  assert.ok((await answered('error')) > 0)
  assert.equal(warned.mock.callCount(), 0)
})

test('a question that is too long is refused, and is not taken for an answer', async t => {
  const { call } = open(t, rudeCommand('polite'))
  for (const idFirst of ['yes', '']) {
    assert.equal(await call('ask_large', { bytes: 5_000_000, idFirst }), 'asked')
    const seen: JsonObject[] = JSON.parse(await call('seen'))
    assert.match(String((seen.at(-1)?.error as JsonObject).message), /more than 4194304 bytes/)
  }
})

test('a question that the child cancels is no longer asked or answered', async t => {
  const { call } = open(t, rudeCommand('polite'))
  const { promise, resolve } = Promise.withResolvers<void>()
  const ask: Ask = (_request, end) =>
    new Promise((_resolve, reject) =>
      end.addEventListener('abort', () => {
        resolve()
        reject(end.reason)
      }),
    )
  assert.equal(await call('withdraw', {}, { ask, capabilities: CAN_ALL }), 'withdrawn')
  await promise
  const seen: JsonObject[] = JSON.parse(await call('seen'))
  assert.deepEqual(
    seen.map(({ method }) => method),
    ['notifications/initialized'],
  )
})

test('when the child that asked dies, the question and the call end', async t => {
  const { upstream, call } = open(t, askingCommand('legacy'))
  const caller = { capabilities: CAN_ALL }
  const pid = Number(await call('pid', {}, caller))
  const ended = Promise.withResolvers<void>()
  const ask: Ask = (_request, end) => {
    end.addEventListener('abort', () => ended.resolve())
    process.kill(pid, 'SIGKILL')
    return new Promise(() => {})
  }
  const asking = callOf({ ...toolCall('ask', { kinds: 'roots' }), client: 'ann', ...caller, ask })
  await assert.rejects(upstream.request(asking, signal), { code: 'upstream_died' })
  await ended.promise
})

for (const kind of ['legacy', 'modern'] as const)
  test(`a ${kind} child sends updates while somebody is subscribed, also after a restart`, async t => {
    const { upstream, call } = open(t, askingCommand(kind), 'shared')
    const received: [string, Notification][] = []
    const subscribe = async (who: string) => {
      const end = new AbortController()
      const onUpdate = (notification: Notification) => received.push([who, notification])
      const answer = await upstream.subscribe?.({ uri: NOTE_URI, caller: OURSELVES, onUpdate }, end.signal)
      assert.deepEqual(answer?.error, undefined)
      return end
    }
    const [ann, bob] = [await subscribe('ann'), await subscribe('bob')]
    const update = { method: 'notifications/resources/updated', params: { uri: NOTE_URI } }
    await call('touch')
    assert.deepEqual(received.splice(0), [
      ['ann', update],
      ['bob', update],
    ])
    ann.abort()
    await call('touch')
    assert.deepEqual(received.splice(0), [['bob', update]])
    await call('die').catch(() => {})
    await call('pid')
    await until(() => received.length > 0)
    assert.deepEqual(received.splice(0), [['bob', update]], 'an update may have been missed')
    await call('touch')
    assert.deepEqual(received.splice(0), [['bob', update]])
    bob.abort()
    await call('touch')
    assert.deepEqual(received, [])
  })

test('a subscription that a server does not support, or without a session, is refused', async t => {
  const onUpdate = () => assert.fail('no update is sent')
  for (const command of [rudeCommand('polite'), rudeCommand('slow-modern')]) {
    const { upstream } = open(t, command, 'shared')
    const answer = await upstream.subscribe?.({ uri: 'a://b', caller: OURSELVES, onUpdate }, signal)
    assert.equal(answer?.error?.code, -32601)
  }
  const { upstream } = open(t, rudeCommand('polite'))
  const answer = await upstream.subscribe?.({ uri: 'a://b', caller: OURSELVES, onUpdate }, signal)
  assert.match(answer?.error?.message ?? '', /no session/)
})

for (const kind of ['legacy', 'modern'] as const)
  test(`a ${kind} child logs at the level that its client sets`, async t => {
    const { call } = open(t, askingCommand(kind))
    const logged = async (logLevel?: string) => {
      const heard: Notification[] = []
      await call('log', {}, { logLevel, notify: notification => heard.push(notification) })
      return heard.map(({ params }) => params?.data)
    }
    assert.deepEqual(await logged('error'), ['large'])
    assert.deepEqual(await logged('debug'), ['small', 'large'])
  })

test('log messages of a shared child reach no client if two of them listen', async t => {
  const { upstream, call } = open(t, askingCommand('modern'), 'shared')
  const heard: string[] = []
  const listening = (who: string) => ({ logLevel: 'debug', notify: () => heard.push(who) })
  await call('log', {}, listening('ann'))
  assert.deepEqual(heard, ['ann', 'ann'])
  const end = new AbortController()
  const hanging = upstream.request(callOf({ ...toolCall('hang'), ...listening('bob') }), end.signal)
  await call('log', {}, listening('ann'))
  end.abort()
  await assert.rejects(hanging)
  assert.equal(heard.length, 2)
})

for (const kind of ['legacy', 'modern'] as const)
  test(`a ${kind} child sends list_changed, and progress of a call`, async t => {
    const { call, events } = open(t, askingCommand(kind), 'shared')
    await call('grow')
    await until(() => events.some(event => event.kind === 'listChanged'))
    const heard: Notification[] = []
    await call(
      'progress',
      {},
      {
        params: { name: 'progress', arguments: {}, _meta: { progressToken: 'mine' } },
        notify: notification => heard.push(notification),
      },
    )
    assert.deepEqual(heard, [
      { method: 'notifications/progress', params: { progressToken: 'mine', progress: 1 } },
    ])
  })

test('methods that need a session are refused if clients share the child', async t => {
  for (const kind of ['legacy', 'modern'] as const) {
    const { upstream } = open(t, askingCommand(kind), 'shared')
    const { capabilities } = await upstream.connect(signal)
    assert.equal('logging' in capabilities, kind === 'modern')
    for (const method of ['logging/setLevel', 'tasks/get']) {
      const { error } = await upstream.request(callOf({ method, params: {}, maxBytes: 1_000 }), signal)
      assert.match(error?.message ?? '', /this server is shared/)
    }
  }
})

test('answers to questions that a legacy child never asked are refused', async t => {
  const { upstream } = open(t, askingCommand('legacy'))
  const params = { ...toolCall('pid').params, requestState: 'forged' }
  assert.equal((await upstream.request({ ...toolCall('pid'), params }, signal)).error?.code, -32602)
})

test('list_changed counts only if the child of discovery sends it, not the child of a client', async t => {
  const { call, events } = open(t, askingCommand('legacy'))
  await call('grow')
  await call('grow', {}, { client: DISCOVERY_CLIENT })
  await until(() => events.some(event => event.kind === 'listChanged'))
  assert.equal(events.filter(event => event.kind === 'listChanged').length, 1)
})
