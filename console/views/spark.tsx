/** A small bar chart of calls, with failed ones in another colour. */

/** `values`: numbers of calls, one for each bar; `bad`: how many of them failed; `label`: what the chart shows, for screen readers. */
export function Spark({
  values,
  bad,
  label,
}: {
  values: readonly number[]
  bad: readonly number[]
  label: string
}) {
  const highest = Math.max(1, ...values)
  const width = 100 / Math.max(1, values.length)
  return (
    <svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label={label}>
      {values.map((value, at) => {
        const height = (value / highest) * 23
        const failed = ((bad[at] ?? 0) / highest) * 23
        const column = { x: at * width, width: width * 0.8 }
        return (
          <g key={at}>
            <rect {...column} class="good" y={24 - height} height={height} />
            <rect {...column} class="bad" y={24 - failed} height={failed} />
          </g>
        )
      })}
    </svg>
  )
}
