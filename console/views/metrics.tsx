/** Five charts with a common cursor, each with advice and its values as a table. */
import { useEffect, useState } from 'preact/hooks'
import { clock, count, duration, plain } from '../format.ts'
import { pointsOf } from '../points.ts'
import { type Chart, chartsOf, type Line, RANGES } from '../series.ts'
import { useStore } from '../store.ts'
import type { Plot } from './charts.tsx'
import { Empty, Tabs } from './parts.tsx'

const TABLE_ROWS = 12

export function Metrics() {
  const { known, route, choose } = useStore()
  const { range = '15m' } = route.value.chosen
  const { state, points, long } = known.value
  const charts = chartsOf(pointsOf(range, points, long))
  if (!state?.whole)
    return (
      <>
        <h1>Metrics</h1>
        <Empty>
          <p>
            This gateway distinguishes its callers, so the page does not show the metrics of the whole
            gateway. Prometheus can read them at /metrics.
          </p>
        </Empty>
      </>
    )
  const isNew = (charts[0]?.times.length ?? 0) < 2
  return (
    <>
      <h1>Metrics</h1>
      <Tabs tabs={RANGES} current={range} onTab={next => choose({ range: next })} />
      <div role="tabpanel" aria-labelledby={`tab-${range}`}>
        <p class="note">
          {range === '15m' ? 'In steps of 5 seconds' : 'In steps of 5 minutes'}, since the gateway started.
          For longer times, let Prometheus read /metrics.
        </p>
        {isNew ? (
          <Empty>
            <p>
              {range === '15m'
                ? 'The first figures come after ten seconds.'
                : 'The first figures come after ten minutes.'}
            </p>
          </Empty>
        ) : (
          <Charts charts={charts} range={range} />
        )}
      </div>
    </>
  )
}

function Charts({ charts, range }: { charts: readonly Chart[]; range: string }) {
  const theme = useThemeKey()
  const [View, setView] = useState<typeof Plot>()
  const [problem, setProblem] = useState<string>()
  useEffect(() => {
    import('./charts.tsx').then(
      ({ Plot }) => setView(() => Plot),
      () => setProblem('The charts could not be loaded: reload the page.'),
    )
  }, [])
  if (problem !== undefined) return <p class="problem">{plain(problem)}</p>
  return (
    <div class="charts">
      {charts.map(chart => (
        <section key={`${chart.key} ${range}`} aria-label={chart.title}>
          <h2>{chart.title}</h2>
          <p class="note">{chart.advice}</p>
          <div class="plot-place" aria-hidden="true">
            {View && <View chart={chart} theme={theme} />}
          </div>
          <Figures chart={chart} />
        </section>
      ))}
    </div>
  )
}

function Figures({ chart: { times, lines } }: { chart: Chart }) {
  const rows = times
    .map((time, at) => ({ time, at }))
    .slice(-TABLE_ROWS)
    .reverse()
  return (
    <details class="figures">
      <summary>The last {rows.length} as a table</summary>
      <table>
        <thead>
          <tr>
            <th scope="col">Until</th>
            {lines.map(({ label }) => (
              <th key={label} scope="col" class="right">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ time, at }) => (
            <tr key={time}>
              <td>{clock(time * 1_000)}</td>
              {lines.map(line => (
                <td key={line.label} class="right">
                  {figure(line, at)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  )
}

function figure({ unit, values }: Line, at: number): string {
  const value = values[at] ?? undefined
  if (value === undefined) return '–'
  return unit === 'ms' ? duration(value) : count(value)
}

/** A string that changes with the theme, whether it was chosen on the page or in the system. */
function useThemeKey(): string {
  const { theme } = useStore()
  const [isDark, setDark] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches)
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)')
    const change = () => setDark(query.matches)
    query.addEventListener('change', change)
    return () => query.removeEventListener('change', change)
  }, [])
  return `${theme.value} ${isDark}`
}
