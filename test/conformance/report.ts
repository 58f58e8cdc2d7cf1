/** The report on a path and a revision. Pure. */
import type { Finding, Outcome, Revision } from './suite.ts'

/** What failed and what the suite warns of, then one line that counts. */
export function closingLines(path: string, revision: Revision, outcome: Outcome): string[] {
  const { required, failed, warned, aside } = outcome
  const passed = required.length - new Set(failed.map(({ scenario }) => scenario)).size
  const name = `${path} ${revision}`
  if (required.length === 0) return [`${name}: the scenario is of another revision`]
  return [
    ...lines('✗', name, failed),
    ...lines('!', name, warned),
    `${name}: ${passed} of ${required.length} required scenarios passed${aside ? ` (${aside})` : ''}`,
  ]
}

function lines(mark: string, name: string, findings: Finding[]): string[] {
  return findings.flatMap(({ scenario, reasons }) =>
    reasons.map(reason => `${mark} ${name} ${scenario}: ${reason}`),
  )
}
