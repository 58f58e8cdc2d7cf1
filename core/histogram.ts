/** A histogram for the hot path: observing costs a few additions; prom-client reads the values only when it is scraped. */
import type { Metric, Registry } from 'prom-client'

export type Observe = (value: number) => void

export type HistogramOptions = { name: string; help: string; buckets: readonly number[] }

type Labels = Readonly<Record<string, string>>
type Series = { labels: Labels; counts: number[]; sum: number }

/** Returns a function that creates one series per label set; prom-client's own histogram looks up the labels on every observation. */
export function createHistogram(registry: Registry, options: HistogramOptions): (labels: Labels) => Observe {
  const { name, help, buckets } = options
  const all: Series[] = []
  const get = async () => ({
    name,
    help,
    type: 'histogram',
    values: all.flatMap(series => valuesOf(series, options)),
    aggregator: 'sum',
  })
  // The registry uses no other members of a metric.
  registry.registerMetric({ name, get } as unknown as Metric)
  return labels => {
    // The last count is for values above every bound.
    const series: Series = { labels, counts: new Array(buckets.length + 1).fill(0), sum: 0 }
    all.push(series)
    return value => {
      let at = 0
      while (at < buckets.length && value > (buckets[at] as number)) at++
      series.counts[at] = (series.counts[at] as number) + 1
      series.sum += value
    }
  }
}

/** Buckets are cumulative: each counts all values up to its bound. */
function valuesOf({ labels, counts, sum }: Series, { name, buckets }: HistogramOptions) {
  let count = 0
  const below = counts.map((more, at) => {
    count += more
    return { metricName: `${name}_bucket`, labels: { le: buckets[at] ?? '+Inf', ...labels }, value: count }
  })
  return [
    ...below,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ]
}
