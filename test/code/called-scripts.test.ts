/** Reviewed scripts that scripts of agents call: which values they return, and within which limits they run. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RouterScript } from '../../core/catalog/router-config.ts'
import { startScriptGateway } from './script-gateway.ts'

const script = (name: string, code: string): RouterScript => ({
  name,
  description: `The script ${name}`,
  keywords: [],
  inputSchema: { type: 'object', properties: {} },
  readOnly: false,
  code,
})

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
