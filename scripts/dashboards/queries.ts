/** PromQL that several panels share. */
import type { Query, Variable } from './content.ts'

/** Of routers. */
export const ROUTERS = 'namespace=~"$namespace", gateway=~"$gateway"'
/** Outcomes that speak of trouble with a server; a tool's own error, a refusal and a cancelled call do not. */
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

/** How much of a counter comes in a second. */
export function rate(counter: string, labels: string): string {
  return `rate(${counter}{${labels}}[$__rate_interval])`
}

/** How much of a counter came in the time that is shown. */
export function increase(counter: string, labels: string): string {
  return `increase(${counter}{${labels}}[$__range])`
}

/** The share of a counter that has these labels too, in the time that is shown; 0 where nothing has. */
export function share(counter: string, labels: string, more: string): string {
  const part = `(sum(${increase(counter, `${labels}, ${more}`)}) or vector(0))`
  return `${part} / sum(${increase(counter, labels)})`
}

/** Half, 95 and 99 of 100 take no longer. */
export function quantiles(histogram: string, labels: string): Query[] {
  return [0.5, 0.95, 0.99].map(part => [quantile(part, histogram, labels), `p${part * 100}`] as const)
}

/** One line for each value of `by`, which is a label or several with commas between. */
export function quantile(part: number, histogram: string, labels: string, by?: string): string {
  const labelsKept = by === undefined ? 'le' : `le, ${by}`
  return `histogram_quantile(${part}, sum by (${labelsKept}) (${rate(`${histogram}_bucket`, labels)}))`
}

/** What every Node process tells, of those processes alone that tell `own` too. */
export function ofProcesses(expr: string, own: string): string {
  return `${expr} and on (instance) ${own}`
}
