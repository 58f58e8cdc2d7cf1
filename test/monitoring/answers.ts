/** Whether a Prometheus that scraped a running Portolan answers what dashboards and alerts ask. */
import assert from 'node:assert/strict'
import { until } from '../support/until.ts'
import type { Prometheus, Rule } from './prometheus.ts'
import { alertRules, filledIn, metricsIn, panels } from './shipped.ts'

const LIMIT_MS = 90_000

/** As a person chooses them in Grafana. */
export type Variables = { namespace: string; gateway: string; server: string }

/** Asks until each query of each panel has given numbers for one of these choices: only for servers that sleep do panels on sleep have any. */
export async function assertPanelsShowData(
  prometheus: Prometheus,
  ...choices: readonly Variables[]
): Promise<void> {
  let empty = panels().flatMap(({ dashboard, title, queries }) =>
    queries.map(query => ({
      where: `${dashboard}: ${title}`,
      asked: [...new Set(choices.map(variables => asAsked(query, variables)))],
    })),
  )
  const allGiveNumbers = async () => {
    const answers = await prometheus.ask(empty.flatMap(({ asked }) => asked))
    const givesNumbers = (at: number) => answers[at]?.some(({ value }) => Number.isFinite(value)) ?? false
    let at = 0
    empty = empty.filter(({ asked }) => !asked.map(() => givesNumbers(at++)).includes(true))
    return empty.length === 0
  }
  await until('all queries give numbers', allGiveNumbers, LIMIT_MS).catch(({ message }) =>
    assert.fail(`${message}\n${JSON.stringify(empty, null, 2)}`),
  )
}

/** The first query of a panel, ready to be asked. */
export function queryOf(dashboard: string, title: string, variables: Variables): string {
  const panel = panels().find(panel => panel.dashboard === `Portolan / ${dashboard}` && panel.title === title)
  assert.ok(panel, `there is no panel ${title} on ${dashboard}`)
  return asAsked(panel.queries[0] ?? '', variables)
}

/** Waits for the first evaluation of all rules; resolves with them. */
export async function assertRulesAreEvaluated(prometheus: Prometheus): Promise<Rule[]> {
  const expected = alertRules()
  const all = expected.flatMap(({ expr }) => metricsIn(expr))
  const names = [...new Set(all)]
  const found = await prometheus.ask(names.map(name => `count(${name})`))
  const absent = names.filter((_, at) => found[at]?.length === 0)
  assert.deepEqual(absent, [])
  const rules = await until('all rules were evaluated', async () => {
    const all = await prometheus.rules()
    return all.every(({ health }) => health !== 'unknown') && all
  })
  assert.deepEqual(rules.map(({ name }) => name).sort(), expected.map(({ alert }) => alert).sort())
  assert.deepEqual(
    rules.filter(({ health }) => health !== 'ok'),
    [],
  )
  return rules
}

/** The intervals are those of a quick scrape. */
function asAsked(query: string, variables: Variables): string {
  return filledIn(query, { __rate_interval: '10s', __range: '60s', ...variables })
}
