/** Which tools are active after an activation: budget, number, and which are evicted. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type LoadingBudget, load } from './loading.ts'

type Tool = { path: string; tokens: number }
const BUDGET: LoadingBudget<Tool> = {
  definitionTokens: 1_000,
  activeTools: 3,
  metaTokens: 100,
  tokensOf: ({ tokens }) => tokens,
}
const tool = (path: string, tokens = 100): Tool => ({ path, tokens })
const [a, b, c, d] = [tool('a'), tool('b'), tool('c'), tool('d')]

test('new tools follow the active ones, and are counted together with the meta-tools', () => {
  assert.deepEqual(load([a], [b, b], BUDGET), {
    active: [a, b],
    loaded: [b],
    evicted: [],
    refused: [],
    tokens: 300,
  })
})

test('the least recently used tools are evicted first, if there are too many tools or too many tokens', () => {
  assert.deepEqual(load([a, b, c], [d], BUDGET).active, [b, c, d])
  assert.deepEqual(load([a, b, c], [d], BUDGET).evicted, [a])
  const large = tool('large', 750)
  assert.deepEqual(load([a, b, c], [large], BUDGET).active, [c, large])
  assert.deepEqual(load([a, b, c], [large], BUDGET).evicted, [a, b])
})

test('activating an active tool again makes it the most recently used, and evicts nothing', () => {
  const { active, evicted, loaded } = load([a, b, c], [a], BUDGET)
  assert.deepEqual([active, evicted, loaded], [[b, c, a], [], [a]])
})

test('a tool that does not fit alone, or with those requested before it, is refused', () => {
  const huge = tool('huge', 901)
  assert.deepEqual(load([a], [huge], BUDGET), {
    active: [a],
    loaded: [],
    evicted: [],
    refused: [huge],
    tokens: 200,
  })
  const e = tool('e')
  assert.deepEqual(load([a], [b, c, d, e], BUDGET).refused, [e])
  assert.deepEqual(
    load([e], [b, c, d, e], BUDGET).evicted,
    [e],
    'e was active and is requested, but no longer fits',
  )
})

test('the budget is never exceeded, and every requested tool is loaded or refused once', () => {
  const tools = fc.array(
    fc.record({ path: fc.constantFrom(...'abcdefghij'), tokens: fc.integer({ min: 0, max: 900 }) }),
    { maxLength: 10 },
  )
  const unique = tools.map(list => [...new Map(list.map(one => [one.path, one])).values()])
  fc.assert(
    fc.property(unique, fc.nat(10), fc.integer({ min: 1, max: 5 }), (all, split, activeTools) => {
      const budget = { ...BUDGET, activeTools }
      const { active, tokens } = load([], all.slice(0, split), budget)
      assert.ok(active.length <= activeTools && tokens <= budget.definitionTokens)
      const next = load(active, all.slice(Math.max(0, split - 2)), budget)
      assert.ok(next.active.length <= activeTools && next.tokens <= budget.definitionTokens)
      assert.equal(
        next.tokens,
        next.active.reduce((sum, one) => sum + one.tokens, budget.metaTokens),
      )
      assert.equal(new Set(next.active).size, next.active.length)
      for (const one of active) assert.notEqual(next.active.includes(one), next.evicted.includes(one))
      for (const one of next.loaded) assert.ok(next.active.includes(one) && !next.refused.includes(one))
    }),
  )
})
