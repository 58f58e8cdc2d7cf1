/** The quality of the search on labelled queries never falls below its floors. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildIndexAtOnce } from './build-at-once.ts'
import { labelledSet, ownCatalog, ownQueries } from './catalogs.ts'
import { type Measures, mean, measure } from './metrics.ts'
import { whereRecorded } from './where-recorded.ts'

/** The labelled sets beside the project: their share in the mean, and how many of their queries count. */
const SETS: { set: string; queries: string; weight: number; first?: number }[] = [
  { set: 'livemcp', queries: 'queries_agentjudged', weight: 2 },
  { set: 'livemcp', queries: 'queries_step_clean', weight: 2 },
  { set: 'mcpzero', queries: 'queries_agent', weight: 2 },
  { set: 'mcpzero', queries: 'queries_user', weight: 3 },
  { set: 'mcpzero', queries: 'queries_tsb_paraphrase', weight: 1 },
  { set: 'mcpzero', queries: 'queries_tsb_exact', weight: 0.5 },
  { set: 'mcpproxy45', queries: 'queries', weight: 1.5 },
  { set: 'gtc-k8s', queries: 'queries', weight: 1 },
  { set: 'gtc-github', queries: 'queries', weight: 0.75 },
  { set: 'gtc-mixed_mcp', queries: 'queries', weight: 0.5 },
  { set: 'gtc-multi_mcp', queries: 'queries', weight: 0.5 },
  { set: 'bfcl-live', queries: 'queries', weight: 1, first: 300 },
]
const FLOORS = { ndcg10: 0.825, recall5: 0.91 }
/** Recall among the first five on the project's own catalog. */
const OWN_FLOORS = { terse: 1, everyday: 0.8, paraphrase: 0.6, hard: 0.9 }

test('the labelled sets are found as well as promised', context => {
  const parts = whereRecorded(context, () => {
    const measured = SETS.map(({ set, queries, weight, first }) => {
      const labelled = labelledSet(set, queries)
      if (!labelled) return undefined
      const index = buildIndexAtOnce(labelled.documents)
      return {
        name: `${set} ${queries}`,
        weight,
        measures: measure(index, labelled.queries.slice(0, first)),
      }
    })
    return measured.every(part => part !== undefined) ? measured : undefined
  })
  if (!parts) return
  for (const part of parts) context.diagnostic(line(part.name, part.measures))
  const all = mean(parts)
  context.diagnostic(line('weighted mean', all))
  assert.ok(all.ndcg10 >= FLOORS.ndcg10, `weighted nDCG@10 ${all.ndcg10} is below ${FLOORS.ndcg10}`)
  assert.ok(all.recall5 >= FLOORS.recall5, `weighted recall@5 ${all.recall5} is below ${FLOORS.recall5}`)
})

for (const [style, floor] of Object.entries(OWN_FLOORS))
  test(`${style} queries find their tool among the first five of the project's own catalog`, context => {
    const queries = ownQueries().filter(judged => judged.style === style)
    assert.equal(queries.length, 30)
    const measures = measure(buildIndexAtOnce(ownCatalog()), queries)
    context.diagnostic(line(style, measures))
    assert.ok(measures.recall5 >= floor, `recall@5 ${measures.recall5} is below ${floor}`)
  })

test("the project's own catalog has at least 150 tools with valid schemas, each named once", () => {
  const catalog = ownCatalog()
  assert.ok(catalog.length >= 150)
  assert.equal(new Set(catalog.map(tool => `${tool.server}:${tool.tool}`)).size, catalog.length)
  for (const tool of catalog) assert.equal(tool.inputSchema?.type, 'object', tool.tool)
  const paths = new Set(catalog.map(tool => `${tool.server}:${tool.tool}`))
  for (const judged of ownQueries())
    for (const { server, tool } of judged.relevant) assert.ok(paths.has(`${server}:${tool}`), judged.id)
})

function line(name: string, measures: Measures): string {
  const figures = Object.entries(measures).map(([measure, value]) => `${measure} ${value.toFixed(3)}`)
  return `${name}: ${figures.join(', ')}`
}
