/** Reviewed scripts that scripts of agents call: which values they return, and within which limits they run. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createScriptGate } from '../../router/code/script-gate.ts'
import type { FixtureServer } from '../meta/fixture.ts'
import { reviewedScript as script, startScriptGateway } from './script-gateway.ts'

test('a script gets the value that a reviewed script returned, of the same type', async t => {
  const values = ['42', 'false', 'null', '"text"', '"[1]"', '"42"', '""', '[1]', '{"a":{"b":[]}}']
  const scripts = values.map((json, at) => script(`value-${at}`, `console.log("x"); return ${json}`))
  const gateway = await startScriptGateway(
    t,
    {},
    {},
    { scripts: [...scripts, script('nothing', 'const a = 1')] },
  )
  const calls = values.map((_, at) => `await tools.scripts.value_${at}({})`)
  assert.deepEqual(
    await gateway.value(`return [${calls}]`),
    values.map(json => JSON.parse(json)),
  )
  assert.equal(await gateway.value('return typeof (await tools.scripts.nothing({}))'), 'undefined')
})

test('a script can call reviewed scripts whatever the limits of scripts are, and all scripts of a client at once', async t => {
  const scripts = [script('one', 'return 1')]
  for (const limits of [{ scriptsPerClient: 1 }, { scripts: 1 }]) {
    const gateway = await startScriptGateway(t, {}, { limits }, { scripts })
    assert.equal(await gateway.value('return tools.scripts.one({})'), 1, JSON.stringify(limits))
  }
  const meeting = Promise.withResolvers<void>()
  let arrived = 0
  const door: FixtureServer = {
    offers: { tools: [{ name: 'meet', inputSchema: { type: 'object', properties: {} } }] },
    async answer() {
      if (++arrived === 2) meeting.resolve()
      await meeting.promise
      return { result: { content: [] } }
    },
  }
  const limits = { scripts: 2, scriptsPerClient: 2 }
  const gateway = await startScriptGateway(t, { door }, { limits }, { scripts })
  const both = [1, 2].map(() => gateway.value('await tools.door.meet({}); return tools.scripts.one({})'))
  assert.deepEqual(await Promise.all(both), [1, 1])
})

test('scripts that run, wait for people or were called by others are together at most twice as many as may run', () => {
  const gate = createScriptGate()
  const limits = { scripts: 2, scriptsPerClient: 1 }
  const red = gate.enter('red', limits)
  const called = gate.enter('red', limits, true)
  assert.ok(red?.beginAsking() && called?.beginAsking())
  assert.deepEqual([gate.running(), gate.asking()], [1, 1])
  assert.deepEqual([gate.enter('red', limits), gate.enter('red', limits, true)], [undefined, undefined])
  const blue = gate.enter('blue', limits)
  assert.ok(gate.enter('blue', limits, true))
  assert.equal(gate.enter('green', limits), undefined)
  called?.endAsking()
  called?.leave()
  const next = gate.enter('red', limits)
  assert.ok(next)
  for (const place of [red, blue, next]) place?.leave()
  assert.deepEqual([gate.running(), gate.asking()], [1, 0])
})
