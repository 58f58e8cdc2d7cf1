/** States of calls, ids of tasks and ids of requests of one caller are of no use to another: over HTTP, against a running router. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { Answerer } from '../meta/fixture.ts'
import { until } from '../support/until.ts'
import { BLUE, initialize, modernised, RED, rule, SERVERS, send, start, TOKENS } from './access-router.ts'
import { streamed } from './post.ts'

const OWN_ROUTE = '/servers/vermilion/mcp'
const SECRET = 'state-of-the-upstream'
const ANYBODY = { auth: { ...TOKENS, anonymous: true } }

/** Asks a question first, and answers calls that bring its state. */
const asking: Answerer = ({ params }) =>
  params?.requestState === SECRET
    ? { result: { content: [{ type: 'text', text: 'deleted' }] } }
    : {
        result: {
          resultType: 'input_required',
          requestState: SECRET,
          inputRequests: {
            sure: { method: 'elicitation/create', params: { message: 'Sure?', requestedSchema: {} } },
          },
        },
      }

type Asked = { origin: string; path?: string; token?: string; era?: '2025' | '2026' }

async function ask(
  { origin, path, token, era = '2026' }: Asked,
  method: string,
  params: JsonObject,
): Promise<JsonObject> {
  const { message, headers } =
    era === '2026' ? modernised({ method, params }) : { message: { method, params }, headers: {} }
  const { text } = await send(origin, message, { path, token, headers })
  return text.startsWith('{') ? JSON.parse(text) : (streamed(text).at(-1) ?? {})
}

test('the requestState of a call works only for the caller and the call that it was given to', async t => {
  const { origin, reached } = await start(t, ANYBODY, {}, asking)
  const answers = { inputResponses: { sure: { action: 'accept', content: {} } } }
  const calls: [string, JsonObject, JsonObject][] = [
    [
      '/mcp',
      { name: 'execute_mcp_tool', arguments: { tool_path: 'vermilion:vermilion_delete', arguments: {} } },
      { name: 'execute_mcp_tool', arguments: { tool_path: 'cobalt:cobalt_delete', arguments: {} } },
    ],
    [
      '/mcp/direct',
      { name: 'vermilion__vermilion_delete', arguments: {} },
      { name: 'vermilion__vermilion_delete', arguments: { vermilionId: 'x' } },
    ],
    [OWN_ROUTE, { name: 'vermilion_delete', arguments: {} }, { name: 'vermilion_get', arguments: {} }],
  ]
  for (const [path, call, other] of calls) {
    const red = { origin, path, token: RED }
    const { result } = await ask(red, 'tools/call', call)
    assert.ok(isObject(result) && result.resultType === 'input_required', JSON.stringify(result))
    const { requestState } = result
    assert.ok(typeof requestState === 'string')
    const decoded = Buffer.from(requestState.split('.').pop() ?? '', 'base64url').toString('latin1')
    assert.doesNotMatch(requestState + decoded, new RegExp(SECRET))
    reached.length = 0
    const resumed = { ...call, ...answers, requestState }
    const thieves: Asked[] = [
      { origin, path, token: BLUE },
      { origin, path },
      { origin, path, token: BLUE, era: '2025' },
      { origin, path: path === OWN_ROUTE ? '/mcp/direct' : OWN_ROUTE, token: RED },
    ]
    for (const thief of thieves) await ask(thief, 'tools/call', resumed)
    await ask(red, 'tools/call', { ...resumed, ...other })
    for (const state of [SECRET, `${requestState}A`, requestState.slice(0, -4), 7, null])
      for (const caller of [red, { origin, path }, { ...red, era: '2025' } as const])
        await ask(caller, 'tools/call', { ...resumed, requestState: state })
    assert.doesNotMatch(JSON.stringify(reached.map(({ call }) => call.params)), new RegExp(SECRET))
    const again = await ask(red, 'tools/call', resumed)
    assert.match(JSON.stringify(again), /deleted/)
  }
})

test('a gateway without auth passes the state of a call on unchanged', async t => {
  const { origin } = await start(t, { auth: undefined }, {}, asking)
  const call = { name: 'vermilion_delete', arguments: {} }
  const { result } = await ask({ origin, path: OWN_ROUTE }, 'tools/call', call)
  assert.equal((result as JsonObject).requestState, SECRET)
  const answered = await ask({ origin, path: OWN_ROUTE }, 'tools/call', { ...call, requestState: SECRET })
  assert.match(JSON.stringify(answered), /deleted/)
})

const TASK = 'task-0001'

/** Keeps one task for everybody, like servers that do not distinguish callers. */
const tasking: Answerer = ({ method, params, caller }) => {
  const task = { taskId: TASK, status: 'working' }
  caller.notify?.({ method: 'notifications/tasks/status', params: task })
  const isMine = params?.taskId === TASK
  switch (method) {
    case 'tools/call':
      return { result: { task } }
    case 'tasks/result':
      return isMine
        ? {
            result: {
              content: [{ type: 'text', text: 'secret' }],
              _meta: { 'io.modelcontextprotocol/related-task': { taskId: TASK } },
            },
          }
        : { error: { code: -32602, message: 'none' } }
    case 'tasks/list':
      return { result: { tasks: [task] } }
    default:
      return isMine ? { result: task } : { error: { code: -32602, message: 'none' } }
  }
}

function pick(result: JsonValue | undefined) {
  const { taskId, status } = result as JsonObject
  return { taskId, status }
}

test('another caller cannot use the id of a task, and nobody can list the tasks of all callers', async t => {
  const modern = { protocol: '2026-07-28', capabilities: { tools: {}, tasks: { list: {}, cancel: {} } } }
  const vermilion = { ...SERVERS.vermilion, offers: { ...SERVERS.vermilion?.offers, ...modern } }
  const servers = { ...SERVERS, vermilion }
  for (const rules of [[], [rule('all', 'vermilion', { subjects: [] })]]) {
    const { origin, reached } = await start(t, { ...ANYBODY, rules }, {}, tasking, servers)
    const red = { origin, path: OWN_ROUTE, token: RED }
    const { message, headers } = modernised({
      method: 'tools/call',
      params: { name: 'vermilion_get', arguments: {}, task: {} },
    })
    const { text } = await send(origin, message, { path: OWN_ROUTE, token: RED, headers })
    assert.doesNotMatch(text, new RegExp(TASK))
    const ids = [...text.matchAll(/"taskId":"([^"]+)"/g)].map(([, id]) => id as string)
    assert.equal(ids.length, 2, text)
    const [taskId = ''] = ids
    assert.equal(ids[1], taskId)
    const call = { name: 'vermilion_get', arguments: {}, task: {} }
    const ofBlue = await ask({ ...red, token: BLUE }, 'tools/call', call)
    assert.match(JSON.stringify(ofBlue), /"taskId":"portolan~/)
    assert.ok(!JSON.stringify(ofBlue).includes(taskId))
    reached.length = 0
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/update'])
      for (const [thief, id] of [
        [{ ...red, token: BLUE }, taskId],
        [{ ...red, token: undefined }, taskId],
        [{ ...red, path: '/servers/cobalt/mcp' }, taskId],
        [{ ...red, path: '/mcp' }, taskId],
        [red, TASK],
        [{ ...red, token: BLUE }, TASK],
        [{ ...red, token: undefined }, TASK],
      ] as const) {
        const { error } = await ask(thief, method, { taskId: id })
        assert.ok(error, `${method} ${JSON.stringify(thief)}`)
      }
    const { error } = await ask(red, 'tasks/list', {})
    assert.ok(error)
    assert.deepEqual(reached, [])
    for (const id of ids) {
      const { result } = await ask(red, 'tasks/get', { taskId: id })
      assert.deepEqual(pick(result), { taskId, status: 'working' })
    }
    const done = await ask(red, 'tasks/result', { taskId })
    assert.match(JSON.stringify(done), /secret/)
    assert.doesNotMatch(JSON.stringify(done), new RegExp(TASK))
    const discovered = await ask(red, 'server/discover', {})
    assert.doesNotMatch(JSON.stringify(discovered), /"list":/)
  }
})

test('no caller can cancel, end or read the requests of another one', async t => {
  const calls = new Map<string, PromiseWithResolvers<void>>()
  const holding: Answerer = async ({ params, caller }) => {
    const held = Promise.withResolvers<void>()
    calls.set(caller.identity.id, held)
    caller.notify?.({
      method: 'notifications/progress',
      params: { progressToken: (params?._meta as JsonObject)?.progressToken ?? null, progress: 1 },
    })
    await held.promise
    return { result: { content: [{ type: 'text', text: `for ${caller.identity.id}` }] } }
  }
  const { origin } = await start(t, {}, {}, holding)
  const sessionOf = async (token: string) => ({
    'mcp-session-id': (await send(origin, initialize, { token })).headers.get('mcp-session-id') ?? '',
  })
  const [red, blue] = [await sessionOf(RED), await sessionOf(BLUE)]
  const call = {
    id: 'same-id',
    method: 'tools/call',
    params: {
      name: 'execute_mcp_tool',
      arguments: { tool_path: 'vermilion:vermilion_get', arguments: {} },
      _meta: { progressToken: 'same-token' },
    },
  }
  const ofRed = send(origin, call, { token: RED, headers: red })
  const ofBlue = send(origin, call, { token: BLUE, headers: blue })
  await until(() => calls.size >= 2)
  const cancel = { method: 'notifications/cancelled', params: { requestId: 'same-id' } }
  const note = async (message: object, headers: Record<string, string>) => {
    const response = await fetch(`${origin}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    })
    return response.status
  }
  const asBlue = { authorization: `Bearer ${BLUE}` }
  assert.equal(await note(cancel, { ...asBlue, ...red }), 404)
  assert.equal(await note(cancel, asBlue), 202)
  assert.equal(await note(cancel, { ...asBlue, ...blue }), 202)
  calls.get('token:red')?.resolve()
  const [finished, cancelled] = await Promise.all([ofRed, ofBlue])
  assert.match(finished.text, /for token:red/)
  assert.equal(finished.text.match(/notifications\/progress/g)?.length, 1)
  assert.doesNotMatch(cancelled.text, /for token/)
})
