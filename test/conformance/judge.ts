/** Checks an outcome of the suite in a test. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { closingLines } from './report.ts'
import type { Outcome, Revision } from './suite.ts'

/** Fails if a required scenario failed, or none was run; the report becomes diagnostics of the test. */
export function judge(t: TestContext, path: string, revision: Revision, outcome: Outcome): void {
  for (const line of closingLines(path, revision, outcome)) t.diagnostic(line)
  assert.deepEqual(outcome.failed, [])
  assert.ok(outcome.required.length > 0)
}
