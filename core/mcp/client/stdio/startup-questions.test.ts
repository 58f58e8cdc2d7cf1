/** Questions that a child asks as soon as it runs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callOf } from '../../../../test/support/call.ts'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { ANSWERS, askingCommand } from '../../../../test/upstreams/asking/questions.ts'
import { textOf, toolCall } from '../../../../test/upstreams/rude/rude.ts'
import { type Clock, systemClock } from '../../../async.ts'
import type { Ask } from '../../caller.ts'
import { StartupQuestions } from './startup-questions.ts'
import { createStdioUpstream } from './stdio-upstream.ts'

const { signal } = new AbortController()
/** Waits longer than production code does, because a child may be slow on a busy machine. */
const patientClock: Clock = {
  ...systemClock,
  after: (ms, run) => systemClock.after(ms >= 1_000 ? 20 * ms : ms, run),
}

test('the first call of a child waits until the child knows the roots that it asks for as it starts', async t => {
  const command = askingCommand('legacy', 'roots-first')
  const life = { sessions: 'perClient', startTimeoutMs: 20_000, idleAfterMs: 60_000, min: 0 } as const
  const upstream = createStdioUpstream({ ...command, ...life }, { clock: patientClock })
  t.after(() => upstream.close())
  const asked: string[] = []
  const ask: Ask = async ({ method }) => {
    asked.push(method)
    return { result: ANSWERS.roots }
  }
  for (const client of ['ann', undefined]) {
    const call = callOf({ ...toolCall('start-roots'), client, capabilities: { roots: {} }, ask })
    assert.deepEqual(JSON.parse(textOf(await upstream.request(call, signal))), ANSWERS.roots)
  }
  assert.deepEqual(asked, ['roots/list', 'roots/list'])
})

test('a caller that cancels stops waiting, and the others continue once it is clear that no roots are requested', async () => {
  const { promise: pinged, resolve } = Promise.withResolvers<void>()
  const startup = new StartupQuestions({ clock: systemClock, ping: () => pinged })
  const ask: Ask = async () => ({ result: {} })
  const leaving = new AbortController()
  const left = startup.wait(callOf({ ...toolCall('pid'), ask }), leaving.signal)
  assert.ok(startup.asking())
  leaving.abort()
  await assert.rejects(left, { code: 'cancelled' })
  assert.equal(startup.asking(), undefined)
  const stayed = startup.wait({ ...toolCall('pid') }, signal)
  assert.equal(startup.asking(), undefined, 'this call has no `ask`')
  resolve()
  await stayed
})

test('a child that goes on asking delays the first call by ten seconds', async () => {
  const clock = createManualClock()
  const startup = new StartupQuestions({ clock, ping: async () => {} })
  const ask: Ask = async () => ({ result: {} })
  let over = false
  const waited = startup.wait(callOf({ ...toolCall('pid'), ask }), signal).then(() => {
    over = true
  })
  for (let ms = 0; ms < 11_000 && !over; ms += 50) {
    assert.ok(ms <= 10_050, 'it has waited for ten seconds')
    void startup.asking()?.caller.ask?.({ method: 'roots/list' }, signal)
    clock.advance(ms === 0 ? 0 : 50)
    await new Promise(setImmediate)
  }
  await waited
  assert.ok(clock.now() >= 10_000)
})
