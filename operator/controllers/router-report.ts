/** Reads the status of a router from its admin port. */
import { request } from 'undici'
import * as z from 'zod'
import type { Clock } from '../../core/async.ts'
import { readBounded } from '../../core/bounded.ts'
import { MAX_REPORTED_RULES } from '../../core/catalog/access-report.ts'
import { deadline } from '../../core/deadline.ts'
import { REASON } from '../../crds/conditions.ts'
import { ADMIN_PORT } from '../plan/names.ts'

const REPORT_LIMIT_MS = 1_000
/** The report of a thousand servers takes about 120 KB. */
const MAX_REPORT_BYTES = 1024 * 1024
const MAX_REASON_CHARACTERS = 1_000
const MAX_NAME_CHARACTERS = 253
const MAX_ISSUERS = 16
const MAX_FINDINGS = 50

/** If a router of another version reports search differently, only this part is dropped. */
const search = z
  .object({
    semantic: z.enum(['embedded', 'endpoint', 'off']),
    reason: z.string().max(MAX_REASON_CHARACTERS).optional(),
    pending: z.int().min(0).default(0),
  })
  .optional()
  .catch(undefined)

const text = (longest: number) => z.string().transform(said => said.slice(0, longest))
/** Like `search`, left out if a router of another version reports it differently. */
const access = z
  .object({
    keys: z
      .array(
        z.object({
          issuer: text(MAX_NAME_CHARACTERS),
          state: z.enum(['ready', 'pending', 'stale', 'unavailable', 'mismatch']),
          message: text(MAX_REASON_CHARACTERS).optional(),
          fetchedAt: text(MAX_NAME_CHARACTERS).optional(),
        }),
      )
      .max(MAX_ISSUERS),
    report: z.object({
      rules: z
        .array(
          z.object({
            name: text(MAX_NAME_CHARACTERS),
            servers: z.int().min(0),
            tools: z.int().min(0).optional(),
          }),
        )
        .max(MAX_REPORTED_RULES),
      findings: z
        .array(
          z.object({
            reason: z.enum([REASON.ruleMatchesNothing, REASON.toolsUnreachable]),
            path: text(MAX_REASON_CHARACTERS).optional(),
            message: text(MAX_REASON_CHARACTERS),
          }),
        )
        .max(MAX_FINDINGS),
    }),
  })
  .optional()
  .catch(undefined)

const report = z.object({
  generation: z.int().min(0).optional(),
  exposedTokens: z.int().min(0).optional(),
  search,
  access,
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
