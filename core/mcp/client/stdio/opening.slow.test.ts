/** How the era of a child is found, also of misbehaving ones. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { callOf } from '../../../../test/support/call.ts'
import { createLeapClock } from '../../../../test/support/leap-clock.ts'
import { until } from '../../../../test/support/until.ts'
import { askingCommand } from '../../../../test/upstreams/asking/questions.ts'
import { rudeCommand, textOf, toolCall } from '../../../../test/upstreams/rude/rude.ts'
import { type Clock, systemClock } from '../../../async.ts'
import { SILENCE_MS } from './opening.ts'
import type { CommandSpec } from './stdio-rpc.ts'
import { createStdioUpstream, type StdioSpec } from './stdio-upstream.ts'

const { signal } = new AbortController()
const LONG_MS = 3_600_000

function open(
  t: TestContext,
  command: Pick<CommandSpec, 'command' | 'args' | 'env'>,
  sessions: StdioSpec['sessions'] = 'shared',
  clock: Clock = systemClock,
) {
  const life = { sessions, startTimeoutMs: LONG_MS, idleAfterMs: LONG_MS, min: 0 }
  const upstream = createStdioUpstream({ ...command, ...life }, { clock, random: () => 0 })
  t.after(() => upstream.close())
  const openings = async (client?: string): Promise<string[]> =>
    JSON.parse(textOf(await upstream.request(callOf({ ...toolCall('openings'), client }), signal)))
  return { upstream, openings }
}

test('server/discover is sent to a shared server first, and its era is remembered across restarts', async t => {
  const { upstream, openings } = open(t, rudeCommand('polite'))
  const { protocolVersion, era } = await upstream.connect(signal)
  assert.deepEqual([protocolVersion, era], ['2025-11-25', undefined])
  assert.deepEqual(await openings(), ['server/discover', 'initialize'])
  await upstream.request(toolCall('die'), signal).catch(() => {})
  assert.deepEqual(await openings(), ['initialize'])
})

test("initialize is sent to a client's own server first", async t => {
  const { openings } = open(t, rudeCommand('polite'), 'perClient')
  assert.deepEqual(await openings('ann'), ['initialize'])
})

test('a call without a client needs no session, and uses the newer era if the server knows it', async t => {
  const { upstream } = open(t, askingCommand('dual'), 'perClient')
  await upstream.connect(signal)
  const ask = async (client?: string) =>
    (
      await upstream.request(
        callOf({ ...toolCall('ask', { kinds: 'roots' }), client, capabilities: { roots: {} } }),
        signal,
      )
    ).result
  assert.equal((await ask())?.resultType, 'input_required')
  assert.equal((await ask('ann'))?.resultType, undefined)
})

test("after the first connection, a client's own server that knows only the newer era is opened in that era at once", async t => {
  const { upstream, openings } = open(t, rudeCommand('slow-modern'), 'perClient')
  assert.equal((await upstream.connect(signal)).era, 'modern')
  assert.deepEqual(await openings('ann'), ['server/discover'])
})

for (const [kind, sessions, era, version] of [
  ['legacy', 'shared', undefined, '2025-11-25'],
  ['dual', 'shared', 'modern', '2026-07-28'],
  ['modern', 'shared', 'modern', '2026-07-28'],
  ['legacy', 'perClient', undefined, '2025-11-25'],
  ['dual', 'perClient', undefined, '2025-11-25'],
  ['modern', 'perClient', 'modern', '2026-07-28'],
] as const)
  test(`a ${kind} server of the SDK, ${sessions}, speaks ${version}`, async t => {
    const { upstream } = open(t, askingCommand(kind), sessions)
    const info = await upstream.connect(signal)
    assert.deepEqual([info.era, info.protocolVersion], [era, version])
    assert.equal(info.serverInfo?.name, 'asking')
    const answer = await upstream.request(callOf({ ...toolCall('pid'), client: 'ann' }), signal)
    assert.ok(Number(textOf(answer)) > 0)
  })

for (const mode of ['discover-without-id', 'discover-garbage'])
  test(`a server with an invalid answer to server/discover is of the older era (${mode})`, async t => {
    const { openings } = open(t, rudeCommand(mode))
    assert.deepEqual(await openings(), ['server/discover', 'initialize'])
  })

test('a server that exits on server/discover is restarted, and not sent it again', async t => {
  const { upstream, openings } = open(t, rudeCommand('die-on-discover'))
  const states: string[] = []
  upstream.onEvent(event => event.kind === 'state' && states.push(event.state))
  assert.deepEqual(await openings(), ['initialize'])
  await upstream.request(toolCall('die'), signal).catch(() => {})
  assert.deepEqual(await openings(), ['initialize'])
  assert.deepEqual(states, ['starting', 'ready', 'starting', 'ready'])
})

for (const mode of ['hang-on-discover', 'discover-last'])
  test(`a server that is silent for 2 s gets initialize as well (${mode})`, async t => {
    const clock = createLeapClock()
    const { upstream, openings } = open(t, rudeCommand(mode), 'shared', clock)
    const asked = openings()
    const hurry = setInterval(() => clock.advance(SILENCE_MS), 200)
    t.after(() => clearInterval(hurry))
    assert.deepEqual(await asked, ['server/discover', 'initialize'])
    clearInterval(hurry)
    await upstream.request(toolCall('die'), signal).catch(() => {})
    assert.deepEqual(await openings(), ['initialize'])
  })

test('a slow server that knows only the newer era is waited for', async t => {
  const clock = createLeapClock()
  const { upstream } = open(t, rudeCommand('slow-modern', 1_000), 'shared', clock)
  const connecting = upstream.connect(signal)
  await until(() => upstream.state === 'starting')
  const hurry = setTimeout(() => clock.advance(SILENCE_MS), 300)
  assert.equal((await connecting).era, 'modern')
  clearTimeout(hurry)
})

test('a server that refuses both eras fails with its reasons', async t => {
  const { upstream } = open(t, rudeCommand('refuse-initialize'))
  await assert.rejects(upstream.connect(signal), { message: /GITHUB_TOKEN is not set/ })
})
