/** A small bar chart of calls, with failed ones in another colour. */

export function Spark({
  values,
  bad,
  label,
}: {
  values: readonly number[]
  bad: readonly number[]
  label: string
}) {
  const most = Math.max(1, ...values)
  const width = 100 / Math.max(1, values.length)
  return (
    <svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label={label}>
      {values.map((value, at) => {
        const height = (value / most) * 23
        const failed = ((bad[at] ?? 0) / most) * 23
        const place = { x: at * width, width: width * 0.8 }
        return (
          <g key={at}>
            <rect {...place} class="good" y={24 - height} height={height} />
            <rect {...place} class="bad" y={24 - failed} height={failed} />
          </g>
        )
      })}
    </svg>
  )
}
