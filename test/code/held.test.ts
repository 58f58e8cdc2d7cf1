/** Scripts that wait for a person: how many may, that their timeout stands still meanwhile, and answers that reach another replica. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { isObject, type JsonObject } from '../../core/json.ts'
import { ANSWER_WITHIN_MS } from '../../core/mcp/server/client-requests.ts'
import { GATHER_MS } from '../../core/mcp/server/held-call.ts'
import { modern, modernHeaders, post } from '../front/post.ts'
import type { FixtureServer } from '../meta/fixture.ts'
import { legacyClient } from '../support/answering-clients.ts'
import { freePort } from '../support/free-port.ts'
import { createManualClock } from '../support/manual-clock.ts'
import { until } from '../support/until.ts'
import { CAN_ALL } from '../upstreams/asking/questions.ts'
import { reviewedScript, type ScriptGateway, startScriptGateway } from './script-gateway.ts'

const CAN_BE_ASKED = { 'io.modelcontextprotocol/clientCapabilities': CAN_ALL }
const ASK = { ask: ['files:wipe'] }
const CODE = 'return tools.files.wipe(input)'
const CATCHING =
  'try { return await tools.files.wipe(input) } catch ({kind, message}) { return {kind, message} }'
const ANY = { type: 'object', properties: {} } as const

const files: FixtureServer = {
  offers: {
    tools: [
      { name: 'wipe', inputSchema: ANY },
      { name: 'never', inputSchema: ANY },
    ],
  },
  answer: ({ params = {} }, signal) =>
    params.name === 'never'
      ? new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      : { result: { content: [{ type: 'text', text: `wiped ${JSON.stringify(params.arguments)}` }] } },
}

type Answer = Awaited<ReturnType<typeof post>>

/** Runs a script as a client of 2026-07-28: it gets a question as the answer to its call, and answers it by calling again. */
async function runAt({ router }: ScriptGateway, code: string, n: number, more: JsonObject = {}) {
  const params = { name: 'run_mcp_script', arguments: { code, input: { n } }, ...more }
  const body = modern('tools/call', params, CAN_BE_ASKED)
  return post(new URL('/mcp/code', router.url).href, body, modernHeaders('tools/call', 'run_mcp_script'))
}

function stateOf({ json, text }: Answer): string {
  const { resultType, requestState } = (json.result ?? {}) as JsonObject
  assert.equal(resultType, 'input_required', text)
  return String(requestState)
}

function said({ json, text }: Answer): string {
  assert.ok(isObject(json.result) && Array.isArray(json.result.content), text)
  return (json.result.content as { text: string }[])[0]?.text ?? ''
}

const allowing = (requestState: string) => ({
  requestState,
  inputResponses: { 'elicitation-1': { action: 'accept', content: { allow: 'once' } } },
})

test('besides the running scripts, `scripts` more may wait for people; a further one is told why it cannot ask', async t => {
  const limits = { scripts: 2, scriptsPerClient: 2 }
  const gateway = await startScriptGateway(t, { files }, { ...ASK, limits })
  const states = [stateOf(await runAt(gateway, CODE, 0)), stateOf(await runAt(gateway, CODE, 1))]
  assert.deepEqual(JSON.parse(said(await runAt(gateway, CATCHING, 2))), {
    kind: 'denied',
    message:
      'files:wipe was not called, because the person could not be asked: Too many scripts wait for people at the moment.',
  })
  assert.equal(await gateway.value('return 1'), 1)
  assert.deepEqual(gateway.sent, [])
  assert.equal(said(await runAt(gateway, CODE, 0, allowing(states[0] ?? ''))), 'wiped {"n":0}')
  const again = stateOf(await runAt(gateway, CATCHING, 2))
  assert.equal(said(await runAt(gateway, CATCHING, 2, allowing(again))), 'wiped {"n":2}')
})

test('a reviewed script that a script cannot call, since others wait for people, is not said to be done', async t => {
  const limits = { scripts: 1, scriptsPerClient: 1 }
  const gateway = await startScriptGateway(
    t,
    { files },
    { ...ASK, limits },
    { scripts: [reviewedScript('one', 'return 1')] },
  )
  stateOf(await runAt(gateway, CODE, 0))
  const { content } = await gateway.run('return tools.scripts.one({})')
  assert.match(
    content[0]?.text ?? '',
    /Too many scripts run at the moment.*\nCalls until then: 1, scripts:one 1\.$/s,
  )
  const caught = 'try { return await tools.scripts.one({}) } catch ({ kind }) { return kind }'
  assert.equal(await gateway.value(caught), 'rejected')
})

test('the timeout of a script stands still while a person is asked, and continues afterwards', async t => {
  const clock = createManualClock()
  const code =
    'await tools.files.wipe(input); try { await tools.files.never() } catch {} for (;;) await tools.files.never()'
  const gateway = await startScriptGateway(
    t,
    { files },
    { ...ASK, limits: { timeoutMs: 60_000 } },
    {},
    { clock },
  )
  const advanceUntil = async <T>(ms: number, answer: Promise<T>): Promise<T> => {
    let done = false
    void answer.finally(() => {
      done = true
    })
    for (; !done; await new Promise(resolve => setImmediate(resolve))) clock.advance(ms)
    return answer
  }
  const state = stateOf(await advanceUntil(GATHER_MS / 1_000, runAt(gateway, code, 1)))
  clock.advance(5 * 60_000)
  const answer = runAt(gateway, code, 1, allowing(state))
  await until(() => gateway.sent.includes('files:never'))
  assert.equal(gateway.sent.length, 2)
  clock.advance(60_000)
  const { json } = await answer
  assert.equal((json.result as JsonObject).isError, true)
  assert.match(
    said(await answer),
    /^The script took longer than 60 s: .*\nCalls until then: 2, files:wipe 1, files:never 1/s,
  )
})

test('a question that nobody answers in time is an error that the script can catch', async t => {
  const clock = createManualClock()
  const gateway = await startScriptGateway(t, { files }, ASK, {}, { clock })
  const { client, call } = await legacyClient(t, new URL('/mcp/code', gateway.router.url).href)
  const asked = Promise.withResolvers<void>()
  client.setRequestHandler(ElicitRequestSchema, () => {
    asked.resolve()
    return new Promise(() => {})
  })
  const answer = call('run_mcp_script', { code: CATCHING, input: { n: 1 } })
  await asked.promise
  clock.advance(ANSWER_WITHIN_MS)
  assert.deepEqual(JSON.parse(await answer), {
    kind: 'denied',
    message:
      'files:wipe was not called, because the person could not be asked: The client did not answer the question within 10 min.',
  })
  assert.deepEqual(gateway.sent, [])
})

test('a script that waits at one replica continues through another, until the first is gone', async t => {
  const replica = async () => {
    const options = { sessionKey: 'one key', address: '127.0.0.1', port: await freePort() }
    return startScriptGateway(t, { files }, ASK, {}, options)
  }
  const [first, second] = [await replica(), await replica()]
  const [answered, orphaned] = [stateOf(await runAt(first, CODE, 1)), stateOf(await runAt(first, CODE, 2))]
  assert.equal(said(await runAt(second, CODE, 1, allowing(answered))), 'wiped {"n":1}')
  assert.deepEqual([first.sent, second.sent], [['files:wipe'], []])
  await first.router.close(0)
  const { json } = await runAt(second, CODE, 2, allowing(orphaned))
  assert.match(JSON.stringify(json.error), /no longer waits; call the tool again/)
  assert.deepEqual([first.sent.length, second.sent], [1, []])
})
