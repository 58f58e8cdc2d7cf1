/** What execute_mcp_tool answers: results as they are, and sentences where there is none. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import type { RouterServer } from '../../core/catalog/router-config.ts'
import type { Fault } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { createStdioUpstream } from '../../core/mcp/client/stdio/stdio-upstream.ts'
import { rudeCommand, toolCall } from '../upstreams/rude/rude.ts'
import { type Answerer, createFixture, type FixtureServer } from './fixture.ts'
import { forge, ISSUE, ISSUE_SCHEMA, SERVERS, wiki } from './servers.ts'

test("a call reaches the upstream with the tool's own name, arguments and _meta", async () => {
  const fixture = createFixture(SERVERS)
  const notify = (): void => {}
  const params = {
    name: 'execute_mcp_tool',
    arguments: ISSUE,
    _meta: { progressToken: 7, traceparent: '00-1' },
  }
  await fixture.request('tools/call', params, { client: 'session-1', notify })
  const { server, call } = fixture.sent[0] ?? assert.fail()
  assert.equal(server, 'forge')
  assert.equal(call.caller.notify, notify)
  const { caller, ...sent } = call
  assert.equal(caller.client, 'session-1')
  assert.deepEqual(JSON.parse(JSON.stringify(sent)), {
    method: 'tools/call',
    params: {
      name: 'create_issue',
      arguments: ISSUE.arguments,
      _meta: { progressToken: 7, traceparent: '00-1' },
    },
    maxBytes: 64 * 1_048_576,
  })
})

test('a result without URIs is passed on as the same text', async () => {
  const result: JsonObject = {
    content: [
      { type: 'text', text: 'done', annotations: { audience: ['user'] } },
      { type: 'hologram', data: 1 },
    ],
    structuredContent: { a: 1 },
    _meta: { vendor: { b: 2 } },
    unknown: true,
    isError: false,
  }
  const resultText = JSON.stringify(result, null, 1)
  const fixture = createFixture({ forge: { ...forge, answer: () => ({ result, resultText }) } })
  const reply = await fixture.request('tools/call', { name: 'execute_mcp_tool', arguments: ISSUE })
  assert.equal(reply.error ?? reply.resultText, resultText)
  assert.equal(reply.result, result)
})

test('links, embedded resources and app pages in a result get the forms that can be read here', async () => {
  const fixture = createFixture({
    forge: {
      ...forge,
      answer: () => ({
        result: {
          content: [
            { type: 'resource_link', uri: 'file:///a', name: 'a', extra: 1 },
            { type: 'resource', resource: { uri: 'ui://board/main', text: 'x' } },
            { type: 'text', text: 'file:///a' },
          ],
          _meta: { ui: { resourceUri: 'ui://board/main' }, other: 1 },
        },
        resultText: 'stale',
      }),
    },
  })
  const reply = await fixture.request('tools/call', { name: 'execute_mcp_tool', arguments: ISSUE })
  assert.deepEqual(reply, {
    result: {
      content: [
        { type: 'resource_link', uri: 'forge+file:///a', name: 'a', extra: 1 },
        { type: 'resource', resource: { uri: 'ui://forge/board/main', text: 'x' } },
        { type: 'text', text: 'file:///a' },
      ],
      _meta: { ui: { resourceUri: 'ui://forge/board/main' }, other: 1 },
    },
  })
})

test('an error of the tool is passed on, with a note if arguments are out of bounds or unknown', async () => {
  const answer: Answerer = () => ({
    result: { content: [{ type: 'text', text: 'failed' }], isError: true, _meta: { a: 1 } },
  })
  const fixture = createFixture({ forge: bounded(answer) })
  const fitting = await fixture.call('execute_mcp_tool', ISSUE)
  assert.deepEqual(fitting, { content: [{ type: 'text', text: 'failed' }], isError: true, _meta: { a: 1 } })
  const wrong = await fixture.call('execute_mcp_tool', {
    ...ISSUE,
    arguments: { repository: '', title: 'x' },
  })
  assert.equal(wrong.content[0]?.text, 'failed')
  assert.match(
    wrong.content[1]?.text ?? '',
    /^The arguments do not fit .*:\n- repository: is "", .*1 character/,
  )
  assert.deepEqual(
    fixture.seen.calls.map(call => call.outcome),
    ['tool_error', 'tool_error'],
  )
})

test("an upstream's JSON-RPC error is an error result with its message, and says which argument is wrong", async () => {
  const answer: Answerer = () => ({ error: { code: -32602, message: 'Invalid arguments' } })
  const fixture = createFixture({ forge: bounded(answer) })
  const text = await refusalOf(fixture, { ...ISSUE, arguments: { repository: '', title: 'x', colour: 1 } })
  assert.match(text, /^Server "forge" refused "forge:create_issue" \(-32602\): Invalid arguments\n/)
  assert.match(
    text,
    /- colour: is unknown; there are: repository, title, labels\n- repository: .*"minLength":1/,
  )
  assert.equal(fixture.seen.calls[0]?.outcome, 'upstream_error')
})

test('a bug is not answered as a result', async () => {
  const answer: Answerer = () => {
    throw new TypeError('undefined is not a function')
  }
  const fixture = createFixture({ forge: { ...forge, answer } })
  await assert.rejects(fixture.call('execute_mcp_tool', ISSUE), TypeError)
})

test('a caller that cancels ends the call upstream', async () => {
  const caller = new AbortController()
  const { promise: aborted, resolve } = Promise.withResolvers<unknown>()
  const answer: Answerer = (_call, signal) => {
    signal.addEventListener('abort', () => resolve(signal.reason))
    return new Promise(() => {})
  }
  const fixture = createFixture({ forge: { ...forge, answer } })
  const calling = fixture.call('execute_mcp_tool', ISSUE, { signal: caller.signal })
  caller.abort()
  assert.equal(((await aborted) as Fault).code, 'cancelled')
  assert.equal((await calling).isError, true)
})

test('texts over maxResultBytes are cut with a note; everything else is complete', async () => {
  const result = {
    content: [
      { type: 'text', text: 'é'.repeat(900) },
      { type: 'image', data: 'A'.repeat(9_000), mimeType: 'image/png' },
      { type: 'text', text: 'tail' },
    ],
    structuredContent: { rows: 'x'.repeat(9_000) },
  }
  const fixture = createFixture({
    forge: { ...forge, server: { limits: limits({ maxResultBytes: 1_001 }) }, answer: () => ({ result }) },
  })
  const { content, structuredContent } = await fixture.call('execute_mcp_tool', ISSUE)
  assert.equal(content[0]?.text, 'é'.repeat(500))
  assert.deepEqual([content[1], structuredContent], [result.content[1], result.structuredContent])
  assert.equal(content[2]?.text, '')
  assert.match(content[3]?.text ?? '', /^\[Cut after 1000 of 1805 bytes/)
})

test('a text far over the limit is cut too, since the call has taken effect', async t => {
  const upstream = createStdioUpstream(
    { ...rudeCommand('polite'), sessions: 'shared', startTimeoutMs: 20_000, idleAfterMs: 60_000, min: 0 },
    { clock: systemClock },
  )
  t.after(() => upstream.close())
  const answer: Answerer = (call, signal) =>
    upstream.request({ ...call, params: toolCall('big', { bytes: 20_000_000 }).params }, signal)
  const fixture = createFixture({ forge: { ...forge, answer } })
  const { content, isError } = await fixture.call('execute_mcp_tool', ISSUE)
  assert.equal(isError, undefined)
  assert.equal(content[0]?.text.length, 1_048_576)
  assert.match(content[1]?.text ?? '', /^\[Cut after 1048576 of 20000000 bytes/)
})

test('a caller without a session gets a note that a perClient server keeps no state', async () => {
  const fixture = createFixture({ forge: { ...forge, server: { sessions: 'perClient' } } })
  const withoutSession = await fixture.call('execute_mcp_tool', ISSUE)
  assert.match(
    withoutSession.content[1]?.text ?? '',
    /^Note: server "forge" keeps its state for each session/,
  )
  assert.equal((await fixture.call('execute_mcp_tool', ISSUE, { client: 'session-1' })).content.length, 1)
})

test('a prompt returns its messages as text, by either name', async () => {
  const answer: Answerer = () => ({
    result: {
      description: 'Sort',
      messages: [
        { role: 'user', content: { type: 'text', text: 'Look at the issues.' } },
        { role: 'assistant', content: { type: 'image', data: 'AA', mimeType: 'image/png' } },
        { role: 'user', content: { type: 'resource', resource: { uri: 'file:///a', text: 'x' } } },
      ],
      _meta: { v: 1 },
    },
  })
  const fixture = createFixture({ forge: { ...forge, answer } })
  for (const path of [
    { prompt_path: 'forge:triage' },
    { tool_path: 'forge:triage' },
    { prompt_path: 'forge__triage' },
  ]) {
    assert.deepEqual(await fixture.call('execute_mcp_tool', { ...path, arguments: { repository: 'a/b' } }), {
      content: [
        { type: 'text', text: 'user: Look at the issues.' },
        { type: 'text', text: 'assistant:' },
        { type: 'image', data: 'AA', mimeType: 'image/png' },
        { type: 'text', text: 'user:' },
        { type: 'resource', resource: { uri: 'forge+file:///a', text: 'x' } },
      ],
      _meta: { v: 1 },
    })
    assert.deepEqual(fixture.sent.at(-1)?.call.params, {
      name: 'triage',
      arguments: { repository: 'a/b' },
    })
  }
})

test('a call is logged with its real names and both durations, and payloads only if allowed', async () => {
  const logging = (payloads: RouterServer['logging']['payloads']) => ({
    logging: { requests: false, payloads },
  })
  const args = {
    repository: 'a/b',
    title: 'x',
    apiToken: 'hush',
    deep: { password: 'hush', note: 'y'.repeat(900) },
  }
  const payload = async (payloads: RouterServer['logging']['payloads']) => {
    const fixture = createFixture({ forge: { ...forge, server: logging(payloads) } })
    await fixture.call('execute_mcp_tool', { tool_path: 'forge__create_issue', arguments: args })
    const record = fixture.seen.calls[0] ?? assert.fail()
    assert.deepEqual(
      [record.server, record.tool, record.method, record.outcome, record.log],
      ['forge', 'create_issue', 'tools/call', 'ok', false],
    )
    assert.ok(record.totalMs >= record.upstreamMs && record.upstreamMs >= 0)
    return record.payload
  }
  assert.equal(await payload('none'), undefined)
  const redacted = JSON.stringify(await payload('redacted'))
  assert.doesNotMatch(redacted, /hush|yyyyy{300}/)
  assert.match(redacted, /"title":"x"/)
  assert.deepEqual((await payload('full'))?.arguments, args)
})

test('a call keeps its catalog while another one is swapped in', async () => {
  const { promise, resolve } = Promise.withResolvers<{ result: JsonObject }>()
  const slow = { ...forge, answer: () => promise }
  const fixture = createFixture({ forge: slow })
  const calling = fixture.call('execute_mcp_tool', ISSUE)
  fixture.reload({ wiki })
  resolve({ result: { content: [] } })
  assert.deepEqual(await calling, { content: [] })
  assert.match(await refusalOf(fixture, ISSUE), /There is no server "forge"/)
})

/** A server whose schema has rules for which no call is refused: a length, and no unknown properties. */
function bounded(answer: Answerer): FixtureServer {
  const properties = {
    ...(ISSUE_SCHEMA.properties as JsonObject),
    repository: { type: 'string', minLength: 1 },
  }
  const inputSchema = { ...ISSUE_SCHEMA, properties, additionalProperties: false }
  return { ...forge, answer, offers: { tools: [{ name: 'create_issue', inputSchema }] } }
}

function limits(changes: Partial<RouterServer['limits']>): RouterServer['limits'] {
  return {
    callTimeoutMs: 60_000,
    startTimeoutMs: 60_000,
    concurrency: 16,
    maxResultBytes: 1_048_576,
    ...changes,
  }
}

async function refusalOf(fixture: ReturnType<typeof createFixture>, args: JsonObject): Promise<string> {
  const { content, isError } = await fixture.call('execute_mcp_tool', args)
  assert.equal(isError, true)
  assert.equal(content.length, 1)
  return content[0]?.text ?? ''
}
