/** For tests on recorded data: skips them with a message if it is missing, and fails them on CI. */
import { existsSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { RECORDED } from '../upstreams/replay/catalogs.ts'

/** For tests whose numbers hold for the recorded catalogs, with their many and large tools. False if these are missing, which is reported as below. */
export function onlyRecorded(context: TestContext): boolean {
  return whereRecorded(context, () => (existsSync(RECORDED) ? true : undefined)) ?? false
}

/** What `load` gives; if that is undefined, the test is skipped with a message, or fails on CI. */
export function whereRecorded<T>(context: TestContext, load: () => T | undefined): T | undefined {
  const data = load()
  if (data !== undefined) return data
  const message = 'no recorded data: ../shared/data is not beside the project'
  if (process.env.CI) throw new Error(message)
  context.skip(message)
  return undefined
}
