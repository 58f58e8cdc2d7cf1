/** Tests on recorded data: loud where it is missing, and failing where it must be there. */
import { existsSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { RECORDED } from '../upstreams/replay/catalogs.ts'

/** For tests whose numbers hold for the recorded catalogs, of many and large tools: false where these are not there, told as below. */
export function onlyRecorded(context: TestContext): boolean {
  return whereRecorded(context, () => (existsSync(RECORDED) ? true : undefined)) ?? false
}

/** What `load` gives; where it gives nothing the test is skipped with a loud message, or fails on CI. */
export function whereRecorded<T>(context: TestContext, load: () => T | undefined): T | undefined {
  const data = load()
  if (data !== undefined) return data
  const message = 'no recorded data: ../shared/data is not beside the project'
  if (process.env.CI) throw new Error(message)
  context.skip(message)
  return undefined
}
