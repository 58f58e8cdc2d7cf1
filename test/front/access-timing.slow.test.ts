/** The time of an answer does not tell what is hidden from what is not there: over HTTP, against a running router. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RED, rule, send, start } from './access-router.ts'

const PAIRS = 1_500
/** Medians of one thing measured twice differ by about 2 % on a busy machine. */
const MOST_APART = 0.1

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number
}

test('a call of what is hidden takes as long as one of what does not exist', async t => {
  const { origin } = await start(t, { rules: [rule('red', 'vermilion'), rule('blue', 'cobalt')] })
  const msOf = async (server: string) => {
    const tool_path = `${server}:${server}_get`
    const call = {
      method: 'tools/call',
      params: { name: 'execute_mcp_tool', arguments: { tool_path, arguments: {} } },
    }
    const begun = performance.now()
    await send(origin, call, { token: RED })
    return performance.now() - begun
  }
  const hidden: number[] = []
  const missing: number[] = []
  for (let pair = -200; pair < PAIRS; pair++) {
    const isFirst = pair % 2 === 0
    const first = await msOf(isFirst ? 'cobalt' : 'kobalt')
    const second = await msOf(isFirst ? 'kobalt' : 'cobalt')
    if (pair < 0) continue
    hidden.push(isFirst ? first : second)
    missing.push(isFirst ? second : first)
  }
  const [one, other] = [median(hidden), median(missing)]
  t.diagnostic(`hidden ${one.toFixed(3)} ms, missing ${other.toFixed(3)} ms`)
  assert.ok(Math.abs(one - other) < MOST_APART * Math.max(one, other), `${one} ${other}`)
})
