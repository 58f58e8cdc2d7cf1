/** PromQL that several panels share. */
import type { Query, Variable } from './content.ts'

/** Labels that select routers. */
export const ROUTERS = 'namespace=~"$namespace", gateway=~"$gateway"'
/** Outcomes that mean a problem of a server, unlike a tool's own error, a rejected and a cancelled call. */
export const FAILED = 'outcome=~"upstream_error|timeout|unavailable|too_large"'

export const NAMESPACE: Variable = {
  name: 'namespace',
  label: 'Namespace',
  query: 'label_values(portolan_catalog_generation, namespace)',
}
export const GATEWAY: Variable = {
  name: 'gateway',
  label: 'Gateway',
  query: 'label_values(portolan_catalog_generation{namespace=~"$namespace"}, gateway)',
}

/** The increase of a counter per second. */
export function rate(counter: string, labels: string): string {
  return `rate(${counter}{${labels}}[$__rate_interval])`
}

/** The increase of a counter in the time range of the dashboard. */
export function increase(counter: string, labels: string): string {
  return `increase(${counter}{${labels}}[$__range])`
}

/** The share of a counter that also has the labels `more`, in the time range of the dashboard; 0 if none has. */
export function share(counter: string, labels: string, more: string): string {
  const part = `(sum(${increase(counter, `${labels}, ${more}`)}) or vector(0))`
  return `${part} / sum(${increase(counter, labels)})`
}

/** Queries for p50, p95 and p99. */
export function quantiles(histogram: string, labels: string): Query[] {
  return [0.5, 0.95, 0.99].map(part => [quantile(part, histogram, labels), `p${part * 100}`] as const)
}

/** A quantile, with one line for each value of `by` (one or more labels, separated by commas). */
export function quantile(part: number, histogram: string, labels: string, by?: string): string {
  const labelsKept = by === undefined ? 'le' : `le, ${by}`
  return `histogram_quantile(${part}, sum by (${labelsKept}) (${rate(`${histogram}_bucket`, labels)}))`
}

/** Restricts a metric of all Node processes to the processes that also report `own`. */
export function ofProcesses(expr: string, own: string): string {
  return `${expr} and on (instance) ${own}`
}
