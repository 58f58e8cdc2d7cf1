/** Reads the status of a router from its admin port. */
import { request } from 'undici'
import * as z from 'zod'
import type { Clock } from '../../core/async.ts'
import { readBounded } from '../../core/bounded.ts'
import { deadline } from '../../core/deadline.ts'
import { ADMIN_PORT } from '../plan/names.ts'

const REPORT_LIMIT_MS = 1_000
/** The report of a thousand servers takes about 120 KB. */
const MAX_REPORT_BYTES = 1024 * 1024
const MAX_REASON_CHARACTERS = 1_000

/** If a router of another version reports search differently, only this part is dropped. */
const search = z
  .object({
    semantic: z.enum(['embedded', 'endpoint', 'off']),
    reason: z.string().max(MAX_REASON_CHARACTERS).optional(),
    pending: z.int().min(0).default(0),
  })
  .optional()
  .catch(undefined)

const report = z.object({
  generation: z.int().min(0).optional(),
  exposedTokens: z.int().min(0).optional(),
  search,
})

export type RouterStatus = z.output<typeof report>

/** undefined if the router does not answer in time or its answer is invalid. Never rejects. */
export async function readRouterStatus(
  address: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<RouterStatus | undefined> {
  const limit = deadline(clock, REPORT_LIMIT_MS, 'The router does not report in time', signal)
  const host = address.includes(':') ? `[${address}]` : address
  try {
    const answer = await request(`http://${host}:${ADMIN_PORT}/status`, { signal: limit.signal })
    const body = await readBounded(answer.body, MAX_REPORT_BYTES, () => new Error('too much'))
    const said = report.safeParse(JSON.parse(body.toString('utf8')))
    return answer.statusCode === 200 ? said.data : undefined
  } catch {
    return undefined
  } finally {
    limit.clear()
  }
}
