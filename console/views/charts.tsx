/** Charts drawn with uPlot. A separate chunk, loaded only with the metrics page. */
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { count, duration } from '../format.ts'
import type { Chart, Line } from '../series.ts'

const HEIGHT = 170
/** Charts with this key show their cursor at the same time. */
const CURSOR_KEY = 'metrics'
const FONT = '11px system-ui'
/** Steps of an axis that counts: whole numbers only. */
const COUNT_STEPS = [0, 1, 2, 3, 4, 5, 6, 7, 8].flatMap(power => [1, 2, 5].map(step => step * 10 ** power))

/** Draws a chart anew when `theme` changes, whose colours it reads from the style sheet. */
export function Plot({ chart, theme }: { chart: Chart; theme: string }) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const { key, times, lines } = chart
  useEffect(() => {
    if (!place.current) return
    const created = new uPlot(optionsOf(chart, place.current), dataOf(chart), place.current)
    plot.current = created
    const observer = new ResizeObserver(([entry]) => {
      if (entry) created.setSize({ width: Math.floor(entry.contentRect.width), height: HEIGHT })
    })
    observer.observe(place.current)
    return () => {
      observer.disconnect()
      created.destroy()
    }
  }, [key, theme])
  useEffect(() => plot.current?.setData(dataOf(chart)), [times, lines])
  return <div class="plot" ref={place} />
}

function dataOf({ times, lines }: Chart): uPlot.AlignedData {
  return [times, ...lines.map(({ values }) => values)]
}

function optionsOf({ lines }: Chart, place: HTMLElement): uPlot.Options {
  const colors = colorsAt(place)
  const units = [...new Set(lines.map(({ unit }) => unit))]
  const text = (unit: Line['unit'], value: number | null) =>
    value === null ? '–' : unit === 'ms' ? duration(value) : count(value)
  return {
    width: place.clientWidth,
    height: HEIGHT,
    cursor: { sync: { key: CURSOR_KEY }, points: { size: 5 } },
    legend: { live: true },
    scales: Object.fromEntries(
      units.map(unit => [unit, { range: (_plot, _min, max) => [0, Math.max(1, max * 1.1)] }]),
    ),
    series: [
      { label: 'time', value: '{HH}:{mm}:{ss}' },
      ...lines.map(({ label, tone, isDashed, unit }) => ({
        label,
        scale: unit,
        stroke: colors[tone],
        width: 1.5,
        dash: isDashed ? [4, 4] : undefined,
        points: { show: false },
        value: (_plot: uPlot, value: number | null) => text(unit, value),
      })),
    ],
    axes: [
      {
        stroke: colors.text,
        grid: { stroke: colors.line, width: 1 },
        ticks: { show: false },
        values: '{HH}:{mm}',
        font: FONT,
      },
      ...units.map((unit, at) => ({
        scale: unit,
        side: at === 0 ? 3 : 1,
        size: 58,
        ...(unit === 'count' && { incrs: COUNT_STEPS }),
        stroke: colors.text,
        font: FONT,
        ticks: { show: false },
        grid: at === 0 ? { stroke: colors.line, width: 1 } : { show: false },
        values: (_plot: uPlot, values: number[]) => values.map(value => text(unit, value)),
      })),
    ],
  }
}

/** The theme's colours. A canvas cannot use CSS custom properties, so an element resolves them. */
function colorsAt(place: HTMLElement): Record<'accent' | 'quiet' | 'bad' | 'text' | 'line', string> {
  const probe = place.appendChild(document.createElement('span'))
  const read = (token: string) => {
    probe.style.color = `var(--${token})`
    return getComputedStyle(probe).color
  }
  const colors = {
    accent: read('accent'),
    quiet: read('edge'),
    bad: read('bad'),
    text: read('quiet'),
    line: read('line'),
  }
  probe.remove()
  return colors
}
