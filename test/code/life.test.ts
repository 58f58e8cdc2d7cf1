/** The threads of scripts: when they start and end, what happens if they fail, how they are limited, and how scripts are traced. */
import assert from 'node:assert/strict'
import process from 'node:process'
import { test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import { OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import { createLog } from '../../core/log.ts'
import { openTracing, tracingSettings } from '../../core/tracing.ts'
import { createSandboxThreads } from '../../router/code/sandbox-threads.ts'
import { createScriptGate } from '../../router/code/script-gate.ts'
import { BLUE, RED, rule, TOKENS } from '../front/access-router.ts'
import type { FixtureServer } from '../meta/fixture.ts'
import { startCollector } from '../support/otlp.ts'
import { until } from '../support/until.ts'
import { LIMITS, post, startScriptGateway } from './script-gateway.ts'

const THREAD_LIMITS = { ...LIMITS, argumentBytes: 1_000, logCharacters: 1_000 }

/** A tool that answers when the test says so. */
function holding() {
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const server: FixtureServer = {
    offers: { tools: [{ name: 'hold', inputSchema: { type: 'object', properties: {} } }] },
    async answer(_call, signal) {
      reach()
      const gone = new Promise<never>((_resolve, reject) =>
        signal?.addEventListener('abort', () => reject(signal.reason)),
      )
      await Promise.race([held, gone])
      return { result: { content: [{ type: 'text', text: 'held' }] } }
    },
  }
  return { server, reached, release }
}

/** Each thread keeps a MessagePort open. */
const threads = () => process.getActiveResourcesInfo().filter(name => name === 'MessagePort').length

test('a gateway has no thread before its first script, and none after it was closed', async t => {
  const before = threads()
  const { server } = holding()
  const gateway = await startScriptGateway(t, { slow: server })
  assert.equal(threads(), before)
  const run = gateway.value('return tools.slow.hold({})').catch(() => {})
  await until(() => gateway.sent.length > 0)
  assert.ok(threads() > before)
  await gateway.router.close(0)
  await run
  assert.equal(threads(), before)
})

test('a search of the profile code starts a thread for the script that will follow', async t => {
  const before = threads()
  const { server } = holding()
  const gateway = await startScriptGateway(t, { slow: server })
  await post(new URL('/mcp/code', gateway.router.url), 'find_tools', { query: 'hold' })
  await until(() => threads() !== before)
  assert.equal(await gateway.value('return 1'), 1)
  await gateway.router.close(0)
  assert.equal(threads(), before)
})

test('a gateway that is closed waits for running scripts, and ends them after a time limit', async t => {
  const patient = holding()
  const gateway = await startScriptGateway(t, { slow: patient.server })
  const answer = gateway.value('return [await tools.slow.hold({}), await tools.slow.hold({})]')
  await patient.reached
  const closed = gateway.router.close(30_000)
  patient.release()
  assert.deepEqual(await answer, ['held', 'held'])
  await closed

  const hasty = holding()
  const other = await startScriptGateway(t, { slow: hasty.server })
  const failed = assert.rejects(other.run('return tools.slow.hold({})'))
  await hasty.reached
  await other.router.close(50)
  await failed
})

for (const [what, program] of Object.entries({
  'does not start': 'file:///nowhere/worker.js',
  'ends by itself': 'data:text/javascript,process.exit(3)',
  'throws while a script runs': `data:text/javascript,import { parentPort } from 'node:worker_threads'; parentPort.on('message', () => { throw new Error('broken') })`,
}))
  test(`a thread that ${what} fails its script, and the next script gets another thread`, async t => {
    const sandboxes = createSandboxThreads(systemClock, new URL(program))
    t.after(() => sandboxes.close())
    for (let run = 0; run < 2; run++) {
      const { outcome } = await sandboxes.run({
        source: 'return 1',
        limits: THREAD_LIMITS,
        answer: async () => ({ isValue: true }),
        signal: new AbortController().signal,
      })
      assert.equal(outcome.kind, 'failed')
    }
  })

const asThread = (program: string) =>
  new URL(
    `data:text/javascript,${encodeURIComponent(`import { parentPort } from 'node:worker_threads'; ${program}`)}`,
  )

test('messages of a thread that are malformed, of another run or too late are ignored, and its log is cut', async t => {
  const lies = `parentPort.on('message', ({ run, source }) => {
    if (source === undefined) return
    const report = { run, memoryBytes: 1, requests: [], logged: '', sandboxMs: 1 }
    const request = { call: 1, kind: 'call', path: 'a:b', args: '{}' }
    for (const lie of [
      'text', null, [], { ...report, run: String(run) }, { ...report, requests: 'none' },
      { ...report, requests: [{ ...request, kind: 'eval' }] }, { ...report, requests: [{ ...request, call: '1' }] },
      { ...report, requests: [{ ...request, path: 'x'.repeat(501) }] }, { ...report, requests: [{ ...request, args: {} }] },
      { ...report, run: run + 1, outcome: { kind: 'returned', json: '"of another run"', late: 0 } },
      { ...report, logged: 'x'.repeat(1e6) },
    ]) parentPort.postMessage(lie)
    parentPort.postMessage({ ...report, outcome: { kind: 'returned', json: '1', late: 0 } })
    parentPort.postMessage({ ...report, requests: [request] })
  })`
  const sandboxes = createSandboxThreads(systemClock, asThread(lies))
  t.after(() => sandboxes.close())
  const asked: unknown[] = []
  const { outcome, logged } = await sandboxes.run({
    source: '',
    limits: THREAD_LIMITS,
    answer: async request => {
      asked.push(request)
      return { isValue: true }
    },
    signal: new AbortController().signal,
  })
  assert.deepEqual([outcome, asked], [{ kind: 'returned', json: '1', late: 0 }, []])
  assert.ok(logged.length <= THREAD_LIMITS.logCharacters + 2)
})

test('a thread knows neither the environment nor the arguments of its process', async t => {
  const program = `parentPort.on('message', () => { throw new Error(JSON.stringify([process.env, process.argv.slice(2), process.execArgv])) })`
  const sandboxes = createSandboxThreads(systemClock, asThread(program))
  t.after(() => sandboxes.close())
  const { outcome } = await sandboxes.run({
    source: 'return 1',
    limits: THREAD_LIMITS,
    answer: async () => ({ isValue: true }),
    signal: new AbortController().signal,
  })
  assert.deepEqual(outcome, { kind: 'failed', message: '[{},[],[]]' })
})

test('the interpreter exceeds its memory limit by at most 8 MiB', async t => {
  const sandboxes = createSandboxThreads(systemClock)
  t.after(() => sandboxes.close())
  for (const source of [
    'const a = []; for (;;) a.push(new Uint8Array(1e6))',
    'let s = "x"; for (;;) s += s',
    'return JSON.parse("[" + "1,".repeat(1.5e7) + "1]")',
  ]) {
    const { memoryBytes, outcome } = await sandboxes.run({
      source,
      limits: THREAD_LIMITS,
      answer: async () => ({ isValue: true }),
      signal: new AbortController().signal,
    })
    assert.notEqual(outcome.kind, 'returned')
    assert.ok(memoryBytes > 0 && memoryBytes <= LIMITS.memoryBytes + 8 * 1024 * 1024, `${memoryBytes}`)
  }
})

test('the memory of a script is not readable by the next one', async t => {
  const gateway = await startScriptGateway(t, {})
  const fill =
    'globalThis.kept = []; for (let n = 0; n < 80; n++) kept.push(new Uint8Array(1e5).fill(171)); return kept.length'
  const scan =
    'let seen = 0; for (let n = 0; n < 80; n++) seen += Number(new Uint8Array(1e5).includes(171)); return [seen, typeof kept]'
  assert.equal(await gateway.value(fill), 80)
  assert.deepEqual(await gateway.value(scan), [0, 'undefined'])
})

test('besides the running scripts, `scripts` more may wait for people, and `scriptsPerClient` of one client', () => {
  const gate = createScriptGate()
  const limits = { scripts: 3, scriptsPerClient: 2 }
  const [first, second, third] = [1, 2, 3].map(() => {
    const place = gate.enter('red', limits)
    return { place, waits: place?.beginAsking() }
  })
  assert.deepEqual([first?.waits, second?.waits, third?.waits], [true, true, false])
  assert.deepEqual([gate.running(), gate.asking()], [1, 2])
  const [blue, green] = [gate.enter('blue', limits), gate.enter('green', limits)]
  assert.equal(gate.enter('yellow', limits), undefined)
  assert.deepEqual([blue?.beginAsking(), green?.beginAsking()], [true, false])
  first?.place?.endAsking()
  assert.equal(green?.beginAsking(), true)
  for (const place of [first?.place, second?.place, third?.place, blue, green]) place?.leave()
  assert.deepEqual([gate.running(), gate.asking()], [0, 0])
})

test('a client that uses up its own limit of scripts does not keep others from running theirs', async t => {
  const { server, release } = holding()
  const rules = [rule('red', 'slow'), rule('blue', 'slow')]
  const access = { ...OPEN_ACCESS, auth: TOKENS, rules }
  const credentials = { secret: () => ({ red: RED, blue: BLUE }) }
  const limits = { scripts: 3, scriptsPerClient: 1 }
  const { run, sent } = await startScriptGateway(t, { slow: server }, { limits }, { access }, { credentials })
  const waiting = run('return tools.slow.hold({})', { token: RED })
  await until(() => sent.length >= 1)
  const refused = await run('return 1', { token: RED })
  assert.match(refused.content[0]?.text ?? '', /Too many scripts run at the moment/)
  assert.equal((await run('return 2', { token: BLUE })).content[0]?.text, '2')
  release()
  assert.equal((await waiting).content[0]?.text, 'held')
})

test('the spans of a script are below that of its request, and carry its id', async t => {
  const collector = await startCollector()
  t.after(() => collector.close())
  const log = createLog({ level: 'silent' })
  const settings = tracingSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint })
  const tracing = await openTracing(settings, 'scripts', log)
  const { server, release } = holding()
  release()
  const gateway = await startScriptGateway(t, { slow: server }, {}, {}, { tracer: tracing?.tracer })
  const { _meta: meta } = await gateway.run('await tools.slow.hold({}); return tools.slow.hold({})')
  await gateway.router.close(0)
  await tracing?.close()
  const { id } = (meta as { 'portolan.dev/script': { id: string } })['portolan.dev/script']
  const [script, ...others] = collector.spans.filter(({ name }) => name === 'run script')
  assert.deepEqual([script?.attributes['portolan.script'], others], [id, []])
  const calls = collector.spans.filter(({ name }) => name === 'tools/call hold')
  assert.deepEqual(
    calls.map(({ parentSpanId, attributes }) => [parentSpanId, attributes['portolan.script']]),
    [
      [script?.spanId, id],
      [script?.spanId, id],
    ],
  )
  assert.ok(collector.spans.some(({ spanId }) => spanId === script?.parentSpanId))
})
