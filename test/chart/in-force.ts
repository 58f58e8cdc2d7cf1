import { until } from '../support/until.ts'

/** Waits for admission policies and rights: the API server takes a second or two to apply new, changed or deleted ones. */

const LIMIT_MS = 30_000

/** Calls `probe` until it does not throw, and returns its result; throws after 30 s. */
export async function inForce<T>(probe: () => Promise<T>): Promise<T> {
  const what = 'the policies or rights take effect'
  const { result } = await until(what, async () => ({ result: await probe() }), LIMIT_MS)
  return result
}
