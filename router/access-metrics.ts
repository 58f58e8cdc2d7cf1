/** Metrics of what was allowed, denied and limited: by rule and reason, whose number the manifests limit, never by user. */
import { Counter, Gauge, type Registry } from 'prom-client'
import { upTo } from '../core/metrics.ts'
import { createCounts } from './call-metrics.ts'

export type AccessMetrics = {
  /** Counts a decision about a call, a credential or a request. */
  decided(labels: { decision: string; rule?: string; reason?: string }): void
  /** Counts an audit line that could not be written. */
  auditLost(): void
  /** Counts fetches of an issuer's keys. `times`: 0 creates the series before the first fetch. */
  keysFetched(issuer: string, ok: boolean, times?: number): void
  /** `ages`: returns the age of each issuer's keys in milliseconds; called at each scrape. */
  watchKeys(ages: () => ReadonlyMap<string, number>): void
}

/** Beyond this number, decisions are counted as `other`. */
const MAX_SERIES = 1_000

export function createAccessMetrics(registry: Registry): AccessMetrics {
  const begin = createCounts(
    registry,
    'portolan_access_decisions_total',
    'Calls by the rule that allowed them, and what was denied, limited or unauthenticated, by reason.',
    ['decision', 'rule', 'reason'],
  )
  const countOf = upTo(MAX_SERIES, key => {
    const [decision = '', rule = '', reason = ''] = key.split('\n')
    return begin({ decision, rule, reason })
  })
  const lost = new Counter({
    name: 'portolan_audit_lines_lost_total',
    help: 'Audit lines that could not be written.',
    registers: [registry],
  })
  const fetched = new Counter({
    name: 'portolan_issuer_keys_fetched_total',
    help: 'Fetches of the keys of a JWT issuer, or of the API server (serviceAccounts).',
    labelNames: ['issuer', 'outcome'],
    registers: [registry],
  })
  let agesOf: () => ReadonlyMap<string, number> = () => new Map()
  new Gauge({
    name: 'portolan_issuer_keys_age_seconds',
    help: 'Time since the keys of a JWT issuer, or of the API server (serviceAccounts), were fetched.',
    labelNames: ['issuer'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [issuer, ms] of agesOf()) this.set({ issuer }, ms / 1_000)
    },
  })
  return {
    decided({ decision, rule = '', reason = '' }) {
      countOf(`${decision}\n${rule}\n${reason}`).value++
    },
    auditLost: () => lost.inc(),
    keysFetched: (issuer, ok, times = 1) => fetched.inc({ issuer, outcome: ok ? 'ok' : 'failed' }, times),
    watchKeys(ages) {
      agesOf = ages
    },
  }
}
