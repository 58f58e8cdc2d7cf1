/** One row of the benchmark table. */
export type BenchRow = {
  what: string
  /** The project's target, in words. */
  aim: string
  measured: string
  ok: boolean
}

export function table(rows: BenchRow[]): string {
  const lines = rows.map(
    row => `| ${row.what} | ${row.aim} | ${row.measured} | ${row.ok ? 'yes' : '**no**'} |`,
  )
  return ['| what | aim | measured | met |', '|---|---|---|---|', ...lines].join('\n')
}

/** The quantile `share` (0 to 1) of the numbers. */
export function quantile(numbers: number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}
