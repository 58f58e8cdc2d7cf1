/** Reads the status of a router from its admin port. */
import { request } from 'undici'
import * as z from 'zod'
import type { Clock } from '../../core/async.ts'
import { readBounded } from '../../core/bounded.ts'
import { MAX_REPORTED_RULES } from '../../core/catalog/access-report.ts'
import {
  LOGIN_ID,
  LOGIN_VALUE,
  MAX_LOGIN_CHARACTERS,
  MAX_LOGINS_AT_ONCE,
} from '../../core/catalog/login-records.ts'
import { deadline } from '../../core/deadline.ts'
import { USER_DIGEST } from '../../core/mcp/user.ts'
import { REASON } from '../../crds/conditions.ts'
import { cutMessage } from '../plan/conditions.ts'
import { ADMIN_PORT } from '../plan/names.ts'

export const REPORT_LIMIT_MS = 1_000
/** The report of a thousand servers takes about 120 KB, and that of a thousand users with pods 80 KB. */
const MAX_REPORT_BYTES = 8 * 1024 * 1024
/** How many routers of a gateway are read at the same time. */
export const READS_AT_ONCE = 8
const MAX_REASON_CHARACTERS = 1_000
const MAX_NAME_CHARACTERS = 253
/** 16 issuers of JSON Web Tokens, and the API server. */
const MAX_ISSUERS = 17
const MAX_FINDINGS = 50
const MAX_SERVERS = 10_000
/** The largest value of `users.max`. */
const MAX_USERS = 1_000
/** As many calls as a router holds. */
const MAX_WAITING = 1_024

/** If a router of another version reports this in another form, only this part of the report is dropped. */
const search = z
  .object({
    semantic: z.enum(['embedded', 'endpoint', 'off']),
    reason: z.string().max(MAX_REASON_CHARACTERS).optional(),
    pending: z.int().min(0).default(0),
  })
  .optional()
  .catch(undefined)

const text = (longest: number) => z.string().transform(value => cutMessage(value, longest))
/** Like `search`, dropped if its form is not known. */
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
  stale: text(MAX_REASON_CHARACTERS).optional().catch(undefined),
  exposedTokens: z.int().min(0).optional(),
  search,
  access,
})

export type RouterStatus = z.output<typeof report>

const count = z.int().min(0).default(0)
/** How each server is used through the router, and what calls wait for. */
const load = z.object({
  servers: z
    .array(
      z.object({
        name: z.string().max(MAX_NAME_CHARACTERS),
        active: count,
        waiting: count,
        asking: count,
        held: count,
        subscriptions: count,
        sessions: count,
        /** Absent while something uses it. */
        idleMs: z.number().min(0).optional(),
        /** By the digest of the user. */
        instances: z
          .record(z.string().regex(USER_DIGEST), z.number().min(0))
          .refine(all => Object.keys(all).length <= MAX_USERS)
          .default({}),
      }),
    )
    .max(MAX_SERVERS),
  waiting: z
    .array(
      z.object({
        server: z.string().max(MAX_NAME_CHARACTERS),
        instance: z.string().regex(USER_DIGEST).optional(),
        since: z.iso.datetime(),
      }),
    )
    .max(MAX_WAITING),
  /** Logins of users that the operator has to store. */
  logins: z
    .array(
      z.object({
        server: z.string().max(MAX_NAME_CHARACTERS),
        id: z.string().regex(LOGIN_ID),
        value: z.string().max(MAX_LOGIN_CHARACTERS).regex(LOGIN_VALUE),
      }),
    )
    .max(MAX_LOGINS_AT_ONCE)
    .default([]),
})

export type RouterLoad = z.output<typeof load>

/** Undefined if the router does not answer in time or its answer is invalid. Never rejects. */
export function readRouterStatus(
  address: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<RouterStatus | undefined> {
  return read(report, address, clock, signal)
}

/** Like `readRouterStatus`. */
export function readRouterLoad(
  address: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<RouterLoad | undefined> {
  return read(load, address, clock, signal)
}

async function read<Schema extends z.ZodType>(
  schema: Schema,
  address: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<z.output<Schema> | undefined> {
  const limit = deadline(clock, REPORT_LIMIT_MS, 'The router does not report in time', signal)
  try {
    const answer = await request(`${adminUrl(address)}/status`, { signal: limit.signal })
    const body = await readBounded(answer.body, MAX_REPORT_BYTES, () => new Error('too much'))
    const status = schema.safeParse(JSON.parse(body.toString('utf8')))
    return answer.statusCode === 200 ? status.data : undefined
  } catch {
    return undefined
  } finally {
    limit.clear()
  }
}

/** The origin of the admin port of a router at an IP address. */
export function adminUrl(address: string): string {
  return `http://${address.includes(':') ? `[${address}]` : address}:${ADMIN_PORT}`
}
