/** Writes, checks and removes the envelope: the metadata that every 2026-07-28 request carries in `params._meta`. Pure. */
import packageJson from '../../../package.json' with { type: 'json' }
import { isObject, type JsonObject } from '../../json.ts'
import type { Caller } from '../caller.ts'
import { LOG_LEVELS } from './log-levels.ts'
import {
  META_CLIENT_CAPABILITIES,
  META_CLIENT_INFO,
  META_LOG_LEVEL,
  META_PROTOCOL_VERSION,
} from './revisions.ts'

export const CLIENT_INFO = { name: 'portolan', version: packageJson.version } satisfies JsonObject

/** The envelope of a request: our name, and the caller's capabilities and log level. */
export function envelopeOf(
  { capabilities, logLevel }: Pick<Caller, 'capabilities' | 'logLevel'>,
  version: string,
): JsonObject {
  const envelope: JsonObject = {
    [META_PROTOCOL_VERSION]: version,
    [META_CLIENT_INFO]: CLIENT_INFO,
    [META_CLIENT_CAPABILITIES]: capabilities ?? {},
  }
  if (logLevel !== undefined) envelope[META_LOG_LEVEL] = logLevel
  return envelope
}

export type EnvelopeIssue = { key: string; problem: string }

export const REQUIRED_KEYS = [META_PROTOCOL_VERSION, META_CLIENT_CAPABILITIES]

/** Whether a request claims the 2026 era: the version key is present, even if the rest is invalid. */
export function hasEnvelope(params: unknown): boolean {
  return isObject(params) && isObject(params._meta) && META_PROTOCOL_VERSION in params._meta
}

/** The first problem of an envelope; undefined if it is valid. */
export function envelopeIssue(meta: JsonObject): EnvelopeIssue | undefined {
  for (const key of REQUIRED_KEYS) if (!(key in meta)) return { key, problem: 'missing' }
  if (typeof meta[META_PROTOCOL_VERSION] !== 'string') return expected(META_PROTOCOL_VERSION, 'string')
  if (!isObject(meta[META_CLIENT_CAPABILITIES])) return expected(META_CLIENT_CAPABILITIES, 'object')
  const info = meta[META_CLIENT_INFO]
  if (info !== undefined) {
    if (!isObject(info)) return expected(META_CLIENT_INFO, 'object')
    for (const key of ['name', 'version'])
      if (typeof info[key] !== 'string') return expected(`${META_CLIENT_INFO}.${key}`, 'string')
  }
  const level = meta[META_LOG_LEVEL]
  if (level !== undefined && !LOG_LEVELS.includes(level as string))
    return expected(META_LOG_LEVEL, 'log level')
  return undefined
}

function expected(key: string, what: string): EnvelopeIssue {
  return { key, problem: `Invalid input: expected ${what}` }
}

/** The params without the envelope; the rest of `_meta` (progress token, trace context) stays. */
export function withoutEnvelope(params: JsonObject): JsonObject {
  const { _meta, ...rest } = params
  if (!isObject(_meta)) return rest
  const {
    [META_PROTOCOL_VERSION]: _version,
    [META_CLIENT_INFO]: _info,
    [META_CLIENT_CAPABILITIES]: _capabilities,
    [META_LOG_LEVEL]: _level,
    ...kept
  } = _meta
  return Object.keys(kept).length > 0 ? { ...rest, _meta: kept } : rest
}
