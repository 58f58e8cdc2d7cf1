/** The outcomes of faults as a table for people. Pure. */
import type { Outcome } from './load.ts'

const REASONS = 5
const MESSAGE_CHARACTERS = 250
const HEAD = `| fault, under a load of 20 calls a second | recovered after | longest time without an answer | p99 | calls | wrong answers | failed while in flight at the fault | failed before any router was reached | other failures |
|---|---|---|---|---|---|---|---|---|
`

export function outcomeTable(outcomes: readonly (readonly [string, Outcome])[]): string {
  const rows = outcomes.map(([what, outcome]) => {
    const { calls, wrong, inFlight, notSent, lost } = outcome
    const times = [seconds(outcome.recoveredMs), seconds(outcome.longestGapMs), `${outcome.p99Ms} ms`]
    return `| ${[what, ...times, calls, wrong, inFlight, notSent, lost.length].join(' | ')} |\n`
  })
  return HEAD + rows.join('')
}

/** Why calls were lost, the most frequent first. */
export function reasonsOf({ lost }: Outcome): string[] {
  const kinds = Map.groupBy(lost, ({ message }) =>
    message.replace(/[\d.]+/g, 'N').slice(0, MESSAGE_CHARACTERS),
  )
  const counted = [...kinds].map(([message, calls]) => ({ message, count: calls.length }))
  const frequent = counted.sort((one, other) => other.count - one.count).slice(0, REASONS)
  return frequent.map(({ message, count }) => `${count} × ${message}`)
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}
