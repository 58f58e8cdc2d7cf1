/** A histogram for the hot path: a value costs a few additions, and prom-client sees it when it is scraped. */
import type { Metric, Registry } from 'prom-client'

export type Observe = (value: number) => void

export type HistogramOptions = { name: string; help: string; buckets: readonly number[] }

type Labels = Readonly<Record<string, string>>
type Series = { labels: Labels; counts: number[]; sum: number }

/** Returns what makes one series of it; prom-client's own histogram looks its labels up for every value. */
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
  // Of a metric the registry asks no more than this.
  registry.registerMetric({ name, get } as unknown as Metric)
  return labels => {
    // One more for what is above every bound.
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

/** Each bucket counts what is below its bound, and so all the smaller ones too. */
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
