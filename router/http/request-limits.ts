/** Counts requests against the limits of a gateway: each once, also if a replica forwards it. */
import type { FastifyRequest } from 'fastify'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import { MAX_BATCH_MESSAGES } from '../../core/mcp/server/read-message.ts'
import { type InternalCredentials, isInternal } from '../access/internal-credential.ts'
import type { Limited, Limits } from '../access/limits.ts'
import { FORWARDED } from './replicas.ts'

export type RequestLimits = Pick<Limits, 'request'>

/** Of nearly every request. */
const NONE: readonly string[] = []
const BATCH = /^\s*\[/

/** The limits that count a request; undefined for one of another replica, which has counted what led to it. */
export function limitsFor(
  { limits, credentials }: { limits?: RequestLimits; credentials?: InternalCredentials },
  request: FastifyRequest,
): RequestLimits | undefined {
  const { authorization, [FORWARDED]: marker } = request.headers
  const isOfReplica =
    credentials?.read('caller', authorization) ?? credentials?.read('forwarded', textOf(marker))
  return isOfReplica ? undefined : limits
}

/** Whether what a replica has signed, if anything, is this very request, including its body. */
export function isSignedAs(
  credentials: InternalCredentials | undefined,
  request: FastifyRequest,
  body: string | undefined,
): boolean {
  const { method, url: path } = request
  return signaturesOf(request).every(text => credentials?.covers(text, { method, path, body }) ?? true)
}

/** Credentials of a replica for a request of its own, and for one that it forwards; neither is verified yet. */
function signaturesOf({
  headers: { authorization, [FORWARDED]: marker },
}: FastifyRequest): readonly string[] {
  if (marker === undefined && !isInternal(authorization)) return NONE
  return [authorization, textOf(marker)].filter(isInternal)
}

function textOf(header: string | string[] | undefined): string | undefined {
  return header === undefined ? undefined : String(header)
}

/** The limit that a batch exceeds. Each message counts as a request; the first was counted before the body was read. */
export function batchBeyond(
  limits: RequestLimits | undefined,
  config: RouterConfig,
  identity: Identity,
  body: string | undefined,
): Limited | undefined {
  if (!limits || config.access.rateLimits.length === 0) return undefined
  for (let left = batchSize(body) - 1; left > 0; left--) {
    const limited = limits.request(config, identity)
    if (limited) return limited
  }
  return undefined
}

function batchSize(body: string | undefined): number {
  if (body === undefined || !BATCH.test(body)) return 1
  try {
    // A longer batch is refused later; until then it must not count more than the longest that is served.
    return Math.min((JSON.parse(body) as unknown[]).length, MAX_BATCH_MESSAGES)
  } catch {
    // Invalid JSON is refused where the message is read.
    return 1
  }
}
