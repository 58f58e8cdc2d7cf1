/** The list of one server: served from the cache, discovered, kept after failures, and read again when due. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../core/async.ts'
import { createLog } from '../core/log.ts'
import { connectRemote } from '../core/mcp/client/connect.ts'
import { createManualClock, type ManualClock } from '../test/support/manual-clock.ts'
import { until } from '../test/support/until.ts'
import { answer, type Behaviour, raw, startRude, stream } from '../test/upstreams/http/rude.ts'
import { createApprovals } from './approvals.ts'
import { createCatalogCache } from './catalog-cache.ts'
import { PinnedTools } from './pinned-tools.ts'
import { type Observed, ServerDiscovery } from './server-discovery.ts'
import { createSlots } from './start-slots.ts'

const INTERVAL_MS = 600_000
const UNPINNED = { allow: ['*'], deny: [], overrides: {} }
const tools = (...names: string[]) =>
  answer({ tools: names.map(name => ({ name, inputSchema: { type: 'object' } })) })
const toolNames = ({ catalog }: Observed) => catalog?.tools.map(({ definition }) => definition.name)

type Setup = {
  clock: ManualClock
  behaviours: Record<string, Behaviour>
  /** The requests of the server. */
  log: string[]
  /** The messages of the discoveries' log. */
  messages: string[]
  discovery: (options?: { eager?: boolean; process?: boolean; watchesLife?: boolean }) => Watched
}
type Watched = ServerDiscovery & {
  until(check: (observed: Observed) => boolean): Promise<Observed>
  /** Resolves once `count` discoveries have ended. */
  done(count: number): Promise<void>
  /** Resolves once the list is in the cache. */
  saved(): Promise<void>
}

/** A real server over HTTP whose behaviour can be changed, and discoveries of it that share one cache. */
async function setUp(t: TestContext): Promise<Setup> {
  const behaviours: Record<string, Behaviour> = { 'tools/list': tools('one', 'two') }
  const server = await startRude(behaviours)
  const folder = mkdtempSync(join(tmpdir(), 'portolan-discovery-'))
  const cache = createCatalogCache(folder)
  const clock = createManualClock(1_000_000)
  const messages: string[] = []
  const destination = { write: (line: string) => void messages.push(JSON.parse(line).msg) }
  const close: (() => unknown)[] = [
    // A list may be written to the folder at this moment.
    () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
    () => server.close(),
  ]
  t.after(async () => {
    for (const each of close.reverse()) await each()
  })
  const discovery: Setup['discovery'] = ({ eager = true, process = false, watchesLife } = {}) => {
    const upstream = connectRemote(
      { url: server.url, transport: 'streamable-http', sessions: 'shared', startTimeoutMs: 5_000 },
      watchesLife ? { clock, random: () => 0.5, watchesLife } : { clock: systemClock },
    )
    let finished = 0
    const waiting = new Set<() => void>()
    const notify = () => {
      for (const check of [...waiting]) check()
    }
    const pins = new PinnedTools({
      subject: { server: 'rude', namespace: 'default', folder },
      policy: () => UNPINNED,
      approve: () => '',
      approvals: createApprovals(folder),
      log: createLog({ level: 'silent' }),
    })
    const intervalMs = () => INTERVAL_MS
    const target = { name: 'rude', revision: 'r', upstream, intervalMs, pins, eager, process }
    const made = new ServerDiscovery(target, {
      clock,
      random: () => 0.5,
      countTokens: async texts => texts.map(text => text.length),
      cache,
      starts: createSlots({ count: 1, maxHoldMs: 1_000, clock }),
      log: createLog({ destination }),
      onChange: notify,
      started: Promise.resolve(),
      onDiscovered: () => {
        finished++
        queueMicrotask(notify)
      },
    })
    const wait = (reached: () => boolean) =>
      new Promise<void>(resolve => {
        const check = () => {
          if (!reached()) return
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      })
    close.push(
      () => made.close(),
      () => upstream.close(),
    )
    return Object.assign(made, {
      until: async (check: (observed: Observed) => boolean) => {
        await wait(() => check(made.observed()))
        return made.observed()
      },
      done: (count: number) => wait(() => finished >= count),
      saved: async () => {
        await until(() => cache.load('rude', 'r'))
      },
    })
  }
  return { clock, behaviours, log: server.log, messages, discovery }
}

test('a new server is starting until its list has been read, then ready', async t => {
  const { discovery } = await setUp(t)
  const made = discovery()
  assert.equal(made.observed().state, 'starting')
  const observed = await made.until(({ state }) => state === 'ready')
  assert.deepEqual(toolNames(observed), ['one', 'two'])
  assert.equal(observed.cached, false)
})

test('a cached list is served at once, without starting the server', async t => {
  const { discovery, log } = await setUp(t)
  const first = discovery()
  await first.done(1)
  await first.saved()
  const asked = log.length
  const again = discovery({ eager: false, process: true })
  const observed = await again.until(({ catalog }) => catalog !== undefined)
  assert.deepEqual([observed.state, observed.cached, toolNames(observed)], ['asleep', true, ['one', 'two']])
  assert.equal(log.length, asked)
})

test('if a list cannot be read again, the last one stays, the server is ready while it answers, and the log says when it can', async t => {
  const { discovery, behaviours, clock, messages } = await setUp(t)
  const made = discovery()
  await made.done(1)
  behaviours['tools/list'] = raw(200, 'application/json', 'garbage')
  clock.advance(INTERVAL_MS * 1.2)
  const observed = await made.until(({ failure }) => failure !== undefined)
  assert.deepEqual([observed.state, toolNames(observed)], ['ready', ['one', 'two']])
  behaviours['tools/list'] = tools('three')
  clock.advance(1_000)
  const recovered = await made.until(({ failure }) => failure === undefined)
  assert.deepEqual(toolNames(recovered), ['three'])
  await made.done(3)
  assert.deepEqual(messages, ['discovery failed', 'discovery works again'])
})

test('a server that does not start counts as failed since its first failure, and is retried with growing delays', async t => {
  const { discovery, behaviours, clock } = await setUp(t)
  const polite = behaviours.initialize
  behaviours.initialize = raw(500, 'text/plain', 'broken')
  const made = discovery()
  const { since, state } = await made.until(({ state }) => state === 'failed')
  assert.equal(state, 'failed')
  const delays: number[] = []
  for (let tries = 2; tries < 9; tries++) {
    await made.done(tries - 1)
    await new Promise(resolve => setImmediate(resolve))
    const before = clock.now()
    while (clock.pending() > 0 && clock.now() - before < 70_000) {
      clock.advance(250)
      await new Promise(resolve => setImmediate(resolve))
      if (clock.pending() === 0) break
    }
    delays.push(clock.now() - before)
  }
  assert.ok(
    delays.every((ms, at) => at === 0 || ms >= (delays[at - 1] ?? 0)),
    delays.join(),
  )
  assert.ok(Math.max(...delays) <= 10_500, delays.join())
  assert.equal(made.observed().since, since)
  if (polite) behaviours.initialize = polite
  else delete behaviours.initialize
  await made.done(8)
  clock.advance(60_000)
  const recovered = await made.until(({ state }) => state === 'ready')
  assert.deepEqual(toolNames(recovered), ['one', 'two'])
})

test('a call to a failed server retries it at once, at most every 2 s', async t => {
  const { discovery, behaviours, clock, log } = await setUp(t)
  const polite = behaviours.initialize
  behaviours.initialize = raw(500, 'text/plain', 'broken')
  const made = discovery()
  await made.done(1)
  const asked = log.length
  made.retryIfFailed()
  made.retryIfFailed()
  await made.done(2)
  made.retryIfFailed()
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(log.length, asked * 2)
  if (polite) behaviours.initialize = polite
  else delete behaviours.initialize
  clock.advance(2_000)
  made.retryIfFailed()
  await made.until(({ state }) => state === 'ready')
})

test('an unused server that dies is reported as failed within a minute, and recovers by itself', async t => {
  const { discovery, behaviours, clock, log } = await setUp(t)
  behaviours.ping = answer({})
  const made = discovery({ watchesLife: true })
  await made.done(1)
  const { since } = made.observed()
  const gone = raw(503, 'text/plain', 'nobody is here')
  const polite = { ...behaviours }
  Object.assign(behaviours, { ping: gone, initialize: gone, 'tools/list': gone })
  clock.advance(30_000)
  const failed = await made.until(({ state }) => state === 'failed')
  assert.deepEqual([failed.reason, failed.message], ['Unreachable', 'The upstream fails with status 503'])
  assert.deepEqual([toolNames(failed), failed.since - since], [['one', 'two'], 30_000])
  for (const name of ['ping', 'initialize', 'tools/list']) delete behaviours[name]
  Object.assign(behaviours, polite)
  clock.advance(1_000)
  await made.until(({ state }) => state === 'ready')
  assert.equal(log.filter(entry => entry === 'POST ping').length, 1)
})

test('a server that answers 401 requires credentials and is not reported as failed', async t => {
  const { discovery, behaviours } = await setUp(t)
  behaviours.initialize = raw(401, 'text/plain', 'no')
  const observed = await discovery().until(({ state }) => state !== 'starting')
  assert.deepEqual([observed.state, observed.reason], ['authRequired', 'AuthRequired'])
})

test('an old list is read again; the list of a sleeping process only at its next start', async t => {
  const { discovery, behaviours, clock, log } = await setUp(t)
  const made = discovery()
  await made.done(1)
  await made.saved()
  behaviours['tools/list'] = tools('new')
  clock.advance(INTERVAL_MS * 1.2)
  assert.deepEqual(toolNames(await made.until(observed => toolNames(observed)?.[0] === 'new')), ['new'])
  await made.done(2)
  const asked = log.length
  const sleeper = discovery({ eager: false, process: true })
  await sleeper.until(({ state }) => state === 'asleep')
  clock.advance(INTERVAL_MS * 3)
  assert.equal(log.length, asked)
})

test('a requested refresh reads the list at once, also after a running read and for a sleeping process', async t => {
  const { discovery, behaviours, clock } = await setUp(t)
  const made = discovery()
  await made.done(1)
  made.refresh()
  made.refresh()
  await made.done(2)
  clock.advance(1_000)
  await made.done(3)
  await made.saved()
  const sleeper = discovery({ eager: false, process: true })
  await sleeper.until(({ state }) => state === 'asleep')
  behaviours['tools/list'] = tools('new')
  sleeper.refresh()
  assert.deepEqual(toolNames(await sleeper.until(observed => !observed.cached)), ['new'])
})

test('a server that sends list_changed on every read is read with growing delays, until its list really changes', async t => {
  const { discovery, behaviours, clock } = await setUp(t)
  const chatty = (name: string): Behaviour =>
    stream((response, { id }) => {
      const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' }
      const result = { tools: [{ name, inputSchema: { type: 'object' } }] }
      for (const message of [changed, { jsonrpc: '2.0', id, result }])
        response.write(`data: ${JSON.stringify(message)}\n\n`)
      response.end()
    })
  behaviours['tools/list'] = chatty('one')
  const made = discovery()
  await made.done(1)
  let total = 1
  const asked = async (withinMs: number) => {
    const before = total
    for (let passed = 0; passed < withinMs; passed += 100) {
      clock.advance(100)
      // There is no timer while a discovery runs.
      if (clock.pending() === 0) await made.done(++total)
    }
    return total - before
  }
  const early = await asked(8_000)
  assert.ok(early >= 3 && early <= 4, String(early))
  await asked(60_000)
  assert.ok((await asked(60_000)) <= 2)
  behaviours['tools/list'] = chatty('two')
  while (toolNames(made.observed())?.[0] !== 'two') await asked(100)
  assert.ok((await asked(3_000)) >= 2)
})
