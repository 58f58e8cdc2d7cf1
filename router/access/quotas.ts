/** The quotas of a gateway: limits over an hour or more, whose sums its routers share. */
import { hash } from 'node:crypto'
import * as z from 'zod'
import type { Clock } from '../../core/async.ts'
import type { RateLimit } from '../../core/catalog/access-config.ts'
import { canonicalJson } from '../../core/json.ts'
import { type Change, createWindowCounts, type WindowCounts } from './window-counts.ts'

export type Quotas = {
  /** The limits in force, in their order; undefined for those that are no quotas. Those that stay keep their counts. */
  adopt(limits: readonly RateLimit[]): (WindowCounts | undefined)[]
  /** Whether there is nothing to report. */
  isEmpty(): boolean
  /** What this router has counted and another one does not know. `cursor`: what it knows; absent: nothing. */
  report(cursor: Cursor | undefined): QuotaReport
  /** Takes what another router has counted. Returns false if one of the limits is not in force here; then all is to be reported again. */
  merge(report: QuotaReport): boolean
  /** Called before counts are sent to the other routers. Call the function that it returns once all of them have these counts. */
  mark(): () => void
}

/** Shorter limits are rates, which routers divide. */
const QUOTA_FROM_MS = 3_600_000
/** Limit of the changes in one message, so that it stays below the limit of bodies: 4 MiB. */
const MAX_CHANGES = 5_000
const MAX_CALLER = 512

const cursorSchema = z.object({
  /** Of the router that knows something, in one life of its process. */
  router: z.string().min(1).max(64),
  revision: z.int().min(0),
  /** Whether it also knows what others had counted before. */
  hasAll: z.boolean(),
})
/** What one router knows of another one. */
export type Cursor = z.infer<typeof cursorSchema>

const changeSchema = z.tuple([
  z.int().min(0),
  z.string().min(1).max(64),
  z.string().max(MAX_CALLER),
  z.int().min(1),
])
const reportSchema = z.object({
  /** What the receiver knows of this router once it has merged this report. */
  cursor: cursorSchema,
  /** Whether the receiver then knows everything. */
  isWhole: z.boolean(),
  /** By limit: slot, router, caller, count. */
  limits: z.array(z.tuple([z.string().max(64), z.array(changeSchema).max(MAX_CHANGES)])).max(64),
})
export type QuotaReport = z.infer<typeof reportSchema>

/** A request of one router to another: what it has counted, and what it knows of what the other has. The answer is `QuotaReport`. */
const exchangeSchema = z.object({ report: reportSchema, known: cursorSchema.optional() })
export type Exchange = z.infer<typeof exchangeSchema>

/** Parses the request of another router; undefined if it does not have the form of this version. */
export function readExchange(text: string): Exchange | undefined {
  return read(exchangeSchema, text)
}

/** Parses the answer to such a request, likewise. */
export function readQuotaReport(text: string): QuotaReport | undefined {
  return read(reportSchema, text)
}

/** `router`: a name of this process that no other one has or had. */
export function createQuotas(router: string, clock: Clock): Quotas {
  let revision = 0
  let counts = new Map<string, WindowCounts>()
  const context = { router, clock, revise: () => ++revision }
  return {
    adopt(limits) {
      const before = counts
      counts = new Map()
      return limits.map((limit, at) => {
        if (limit.everyMs < QUOTA_FROM_MS) return undefined
        const key = keyOf(limit, at)
        const found = before.get(key) ?? createWindowCounts(limit.everyMs, context)
        counts.set(key, found)
        return found
      })
    },
    isEmpty: () => counts.size === 0,
    report(cursor) {
      const known = cursor?.router === router ? cursor : { revision: 0, hasAll: false }
      const found = [...counts].flatMap(([limit, window]) =>
        window.changes(known.revision, !known.hasAll).map(change => ({ limit, change })),
      )
      const isWhole = found.length <= MAX_CHANGES
      if (!isWhole) found.sort((a, b) => a.change.revision - b.change.revision).splice(MAX_CHANGES)
      const last = isWhole ? revision : (found.at(-1)?.change.revision ?? 0)
      return {
        cursor: { router, revision: last, hasAll: isWhole || known.hasAll },
        isWhole,
        limits: [...Map.groupBy(found, ({ limit }) => limit)].map(([limit, changes]) => [
          limit,
          changes.map(({ change: { slot, router, caller, count } }) => [slot, router, caller, count]),
        ]),
      }
    },
    merge({ limits }) {
      for (const [limit, changes] of limits) {
        const window = counts.get(limit)
        for (const change of changes) window?.merge(changeOf(change))
      }
      return limits.every(([limit]) => counts.has(limit))
    },
    mark() {
      const marked = [...counts.values()].map(window => window.mark())
      return () => {
        for (const reported of marked) reported()
      }
    },
  }
}

/** Identifies a quota and its counts. It leaves out the limit, the burst and the servers, so that counts stay when these change. */
function keyOf({ per, counts, everyMs, tools }: RateLimit, at: number): string {
  return hash('sha256', canonicalJson({ at, per, counts, everyMs, tools }), 'base64url')
}

function changeOf([slot, router, caller, count]: z.infer<typeof changeSchema>): Omit<Change, 'revision'> {
  return { slot, router, caller, count }
}

function read<T>(schema: z.ZodType<T>, text: string): T | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
