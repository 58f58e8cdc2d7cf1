/** Tests on recorded data: loud where it is missing, and failing where it must be there. */
import type { TestContext } from 'node:test'

/** What `load` gives; where it gives nothing the test is skipped with a loud message, or fails on CI. */
export function whereRecorded<T>(context: TestContext, load: () => T | undefined): T | undefined {
  const data = load()
  if (data !== undefined) return data
  const message =
    'RECORDED DATA IS MISSING: ../shared/data is not beside the project, this test ran on nothing'
  if (process.env.CI) throw new Error(message)
  context.diagnostic(message)
  context.skip(message)
  return undefined
}
