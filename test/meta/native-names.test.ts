/** Servers' own names in native requests, subscriptions, and requests that a route cannot pass on. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCaller } from '../../core/mcp/caller.ts'
import type { Notification, ServerRequest } from '../../core/mcp/protocol/json-rpc.ts'
import { createFixture, type FixtureServer, GATEWAY } from './fixture.ts'

const capabilities = { tools: {}, prompts: {}, resources: { subscribe: true } }
const notes: FixtureServer = {
  offers: {
    capabilities,
    tools: [{ name: 'add', inputSchema: { type: 'object' } }],
    resources: [
      { uri: 'note://one', name: 'one' },
      { uri: 'note://both', name: 'both' },
      { uri: 'ui://a/b', name: 'page' },
    ],
    resourceTemplates: [
      { uriTemplate: 'note://list/{id}/text', name: 'text' },
      { uriTemplate: 'same://{id}', name: 'same' },
    ],
    prompts: [{ name: 'greet' }, { name: 'shared' }],
  },
}
const mails: FixtureServer = {
  offers: {
    capabilities: { tools: {}, prompts: {}, resources: {} },
    resources: [
      { uri: 'mail://one', name: 'one' },
      { uri: 'note://both', name: 'both' },
    ],
    resourceTemplates: [
      { uriTemplate: 'same://{+path}', name: 'same' },
      { uriTemplate: '{+anything}', name: 'anything' },
    ],
    prompts: [{ name: 'shared' }],
  },
}
const hidden: FixtureServer = { ...notes, server: { status: { state: 'failed', hidden: true } } }
const SERVERS = { notes, mails, hidden }

const targetsOf = (fixture: ReturnType<typeof createFixture>) =>
  fixture.sent
    .splice(0)
    .map(({ server, call: { params } }) => [server, params?.uri ?? params?.name ?? params?.ref])

test('a resource is read by its own URI if only one server has it, listed or by a template', async () => {
  const fixture = createFixture(SERVERS)
  for (const uri of ['note://one', 'mail://one', 'ui://a/b', 'note://list/7/text'])
    assert.equal((await fixture.request('resources/read', { uri })).error, undefined, uri)
  assert.deepEqual(targetsOf(fixture), [
    ['notes', 'note://one'],
    ['mails', 'mail://one'],
    ['notes', 'ui://a/b'],
    ['notes', 'note://list/7/text'],
  ])
})

test('a URI of several servers, or of none, is refused with the possible ones', async () => {
  const fixture = createFixture(SERVERS)
  const refusal = async (uri: string) => (await fixture.request('resources/read', { uri })).error
  const both = await refusal('note://both')
  assert.deepEqual([both?.code, both?.data], [-32002, { uri: 'note://both' }])
  assert.match(both?.message ?? '', /The nearest: mails\|note:\/\/both, notes\|note:\/\/both\./)
  assert.match(
    (await refusal('same://7'))?.message ?? '',
    /mails\|same:\/\/\{\+path\}, notes\|same:\/\/\{id\}/,
  )
  assert.equal((await refusal('note://list/7'))?.code, -32002)
  assert.equal((await refusal('other://x'))?.code, -32002)
  assert.deepEqual(fixture.sent, [])
})

test('prompts and completions accept names that only one server has', async () => {
  const fixture = createFixture(SERVERS)
  const argument = { name: 'who', value: 'a' }
  await fixture.request('prompts/get', { name: 'greet' })
  await fixture.request('completion/complete', { ref: { type: 'ref/prompt', name: 'greet' }, argument })
  const template = 'note://list/{id}/text'
  await fixture.request('completion/complete', { ref: { type: 'ref/resource', uri: template }, argument })
  assert.deepEqual(targetsOf(fixture), [
    ['notes', 'greet'],
    ['notes', { type: 'ref/prompt', name: 'greet' }],
    ['notes', { type: 'ref/resource', uri: template }],
  ])
  const { error } = await fixture.request('prompts/get', { name: 'shared' })
  assert.match(
    error?.message ?? '',
    /no prompt "shared"\. The nearest: (mails|notes)__shared, (mails|notes)__shared\./,
  )
})

test('a resource is subscribed to by any of its URIs, and updates have that URI', async () => {
  for (const uri of ['notes+note://one', 'notes|note://one', 'note://one']) {
    const fixture = createFixture(SERVERS)
    const { updates, reply } = subscribe(fixture, uri)
    assert.deepEqual(await reply, { result: {} })
    const { server, subscription } = fixture.subscribed[0] ?? assert.fail()
    assert.deepEqual(
      [server, subscription.uri, subscription.caller.client, subscription.caller.capabilities],
      ['notes', 'note://one', 'anna', { roots: {} }],
    )
    for (const updated of ['note://one', 'note://one/part', undefined])
      subscription.onUpdate({
        method: 'notifications/resources/updated',
        params: { uri: updated, title: 'x' },
      })
    assert.deepEqual(
      updates.map(({ params }) => params),
      [
        { uri, title: 'x' },
        { uri: 'notes+note://one/part', title: 'x' },
        { uri, title: 'x' },
      ],
    )
  }
})

test("updates on the route of a single server keep the server's own URIs", async () => {
  const fixture = createFixture(SERVERS)
  const { updates, reply } = subscribe(fixture, 'note://any', { kind: 'server', server: 'notes' } as const)
  assert.deepEqual(await reply, { result: {} })
  fixture.subscribed[0]?.subscription.onUpdate({ method: 'x', params: { uri: 'note://any/part' } })
  assert.deepEqual(updates[0]?.params, { uri: 'note://any/part' })
})

test('a subscription that is not possible is refused with its reason', async () => {
  const fixture = createFixture(SERVERS)
  for (const [uri, sentence] of [
    ['mail://one', /"mails" does not support subscriptions/],
    ['hidden+note://one', /"hidden" is down/],
    ['gone://x', /no resource/],
  ] as const) {
    const { error } = await subscribe(fixture, uri).reply
    assert.equal(error?.code, -32602)
    assert.match(error?.message ?? '', sentence)
  }
  assert.deepEqual(fixture.subscribed, [])
})

test('tasks reach a server with a session for each client; elsewhere they are refused, or removed from a call', async () => {
  const route = { kind: 'server', server: 'notes' } as const
  const call = { name: 'add', arguments: {}, task: { ttl: 1 } }
  const own = createFixture({ notes: { ...notes, server: { sessions: 'perClient' } } })
  await own.request('tasks/get', { taskId: '1' }, { route, client: 'anna' })
  await own.request('tools/call', call, { route, client: 'anna' })
  assert.deepEqual(
    own.sent.map(({ call: { method, params } }) => [method, params]),
    [
      ['tasks/get', { taskId: '1' }],
      ['tools/call', call],
    ],
  )
  const shared = createFixture({ notes })
  const { error } = await shared.request('tasks/get', { taskId: '1' }, { route })
  assert.equal(error?.code, -32601)
  assert.match(error?.message ?? '', /all clients share one session with server "notes"/)
  await shared.request('tools/call', call, { route })
  await shared.request('tools/call', { ...call, name: 'notes__add' })
  for (const { call } of shared.sent) assert.deepEqual(call.params, { name: 'add', arguments: {} })
})

test('unknown methods are passed to a single server, and refused by a gateway', async () => {
  const fixture = createFixture({ notes })
  const route = { kind: 'server', server: 'notes' } as const
  assert.equal((await fixture.request('vendor/thing', { a: 1 }, { route })).error, undefined)
  assert.deepEqual(fixture.sent[0]?.call.params, { a: 1 })
  assert.equal((await fixture.request('vendor/thing', { a: 1 })).error?.code, -32601)
})

test('list_changed after activate is sent on a stream of the client, and not again with the answer', async () => {
  const onStream: unknown[] = []
  const clients = {
    notify: (client: string, notification: Notification) => onStream.push([client, notification.method]) > 0,
    asking: () => undefined,
  }
  const fixture = createFixture({ notes }, { profile: 'registry' }, undefined, clients)
  const withAnswer: unknown[] = []
  await fixture.call(
    'activate',
    { tools: ['notes:add'] },
    {
      route: { kind: 'gateway', profile: 'registry' },
      client: 'anna',
      notify: notification => void withAnswer.push(notification),
    },
  )
  assert.deepEqual([onStream, withAnswer], [[['anna', 'notifications/tools/list_changed']], []])
})

test('what a server sends between calls reaches the streams of its client, except what is sent there anyway', async () => {
  const onStream: string[] = []
  const answer = { result: { roots: [] } }
  const clients = {
    notify: (client: string, { method }: Notification) => onStream.push(`${client} ${method}`) > 0,
    asking: (_client: string, { method }: ServerRequest) =>
      method === 'roots/list' ? async () => answer : undefined,
  }
  const fixture = createFixture({ notes }, {}, undefined, clients)
  await fixture.request('resources/read', { uri: 'note://one' })
  const [ears = assert.fail()] = fixture.ears
  for (const method of ['message', 'resources/updated', 'tools/list_changed', 'vendor/thing'])
    ears.notified('anna', { method: `notifications/${method}` })
  assert.deepEqual(onStream, ['anna notifications/message', 'anna notifications/vendor/thing'])
  const { signal } = new AbortController()
  assert.equal(await ears.asked('anna', { method: 'roots/list' }, signal), answer)
  assert.equal(ears.asked('anna', { method: 'sampling/createMessage' }, signal), undefined)
})

function subscribe(fixture: ReturnType<typeof createFixture>, uri: string, route: typeof GATEWAY = GATEWAY) {
  const updates: Notification[] = []
  const { signal } = new AbortController()
  const onUpdate = (notification: Notification) => void updates.push(notification)
  const subscription = {
    uri,
    caller: createCaller({ client: 'anna', capabilities: { roots: {} } }),
    onUpdate,
  }
  const reply = fixture.handler.subscribe?.(route, subscription, {
    signal,
    identity: () => subscription.caller.identity,
    end: () => {},
  })
  return { updates, reply: reply ?? assert.fail() }
}
