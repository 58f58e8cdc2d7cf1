/** What a test says of an outcome of the suite. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { closingLines } from './report.ts'
import type { Outcome, Revision } from './suite.ts'

/** Fails with what failed; the closing line is among the test's diagnostics. */
export function judge(t: TestContext, path: string, revision: Revision, outcome: Outcome): void {
  for (const line of closingLines(path, revision, outcome)) t.diagnostic(line)
  assert.deepEqual(outcome.failed, [])
  assert.ok(outcome.required.length > 0)
}
