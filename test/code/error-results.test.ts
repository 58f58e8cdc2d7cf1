/** The results with which tools report errors have the same limits as other results of scripts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FixtureServer } from '../meta/fixture.ts'
import { startScriptGateway } from './script-gateway.ts'

const RESULT_BYTES = 10_000

const tool = (name: string) => ({
  name,
  inputSchema: { type: 'object', properties: { size: { type: 'integer' } } },
})

/** Tools that answer with a text of a given size: as an error, and as a result. */
const texts: FixtureServer = {
  offers: { tools: [tool('fail'), tool('get')] },
  answer: ({ params = {} }) => {
    const { size } = params.arguments as { size: number }
    const content = [{ type: 'text', text: 'x'.repeat(size) }]
    return { result: { content, ...(params.name === 'fail' && { isError: true }) } }
  },
}

/** What a script knows of the error of a call: its kind, the size of its message, and the size of its result. */
const FAILING = `
  const failing = size => tools.texts.fail({size}).catch(({ kind, message, result }) =>
    [kind, message.length, result?.content[0].text.length ?? 'none'])`

test('an error larger than a result may be has a message, but no result', async t => {
  const { value } = await startScriptGateway(t, { texts }, { limits: { resultBytes: RESULT_BYTES } })
  assert.deepEqual(
    await value(`${FAILING}; return [await failing(5_000), await failing(50_000), await failing(100)]`),
    [
      ['tool_error', 2_000, 5_000],
      ['tool_error', 2_000, 'none'],
      ['tool_error', 100, 100],
    ],
  )
  // What the script did not get does not count.
  const source = `${FAILING}; for (let n = 0; n < 20; n++) await failing(50_000); return (await tools.texts.get({size: 5_000})).length`
  assert.equal(await value(source), 5_000)
})

test('errors count among all results of a script', async t => {
  const { value } = await startScriptGateway(t, { texts }, { limits: { resultBytes: RESULT_BYTES } })
  const source = `${FAILING}
    const all = []
    for (let n = 0; n < 12; n++) all.push((await failing(8_000))[2])
    return [all.filter(size => size === 8_000).length, await tools.texts.get({size: 8_000}).then(({ length }) => length, ({ kind }) => kind)]`
  // All may take 80,000 bytes.
  assert.deepEqual(await value(source), [9, 'too_large'])
})
