/** Asks a router at its admin port what it serves. */
import { request } from 'undici'
import * as z from 'zod'
import type { Clock } from '../../core/async.ts'
import { readBounded } from '../../core/bounded.ts'
import { deadline } from '../../core/deadline.ts'
import { ADMIN_PORT } from '../plan/names.ts'

const REPORT_LIMIT_MS = 1_000
/** A thousand servers are some 120 KB. */
const MAX_REPORT_BYTES = 1024 * 1024
const MAX_REASON_CHARACTERS = 1_000

/** What a router says that is of another version is left out, not the whole. */
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

export type RouterSays = z.output<typeof report>

/** Undefined where it does not answer in time, or with anything else. Never rejects. */
export async function askRouter(
  address: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<RouterSays | undefined> {
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
