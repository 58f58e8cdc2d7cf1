/** The metadata that every 2026-07-28 request carries in `params._meta`: found, checked, taken off. Pure. */
import { isObject, type JsonObject } from '../../json.ts'
import { INVALID_PARAMS, type Rejected, type RequestId, reject } from '../server/rejection.ts'
import { LOG_LEVELS } from './log-levels.ts'
import {
  META_CLIENT_CAPABILITIES,
  META_CLIENT_INFO,
  META_LOG_LEVEL,
  META_PROTOCOL_VERSION,
} from './revisions.ts'

type EnvelopeIssue = { key: string; problem: string }

const REQUIRED_KEYS = [META_PROTOCOL_VERSION, META_CLIENT_CAPABILITIES]

/** Whether the message claims the newer era: the version key is there, whatever the rest looks like. */
export function hasEnvelope(params: unknown): boolean {
  return isObject(params) && isObject(params._meta) && META_PROTOCOL_VERSION in params._meta
}

/** What is wrong with an envelope, the first thing only. */
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

/** 400 and −32602, naming the key at fault. */
export function rejectEnvelope(id: RequestId | null, issue: EnvelopeIssue): Rejected {
  const message = `Invalid _meta envelope for protocol revision 2026-07-28: ${issue.key}: ${issue.problem}`
  return reject(400, id, INVALID_PARAMS, message, { envelope: issue })
}

/** The header names the newer era and the body has no envelope: 400 and −32602, naming what is missing. */
export function rejectMissingEnvelope(id: RequestId, version: string, params: unknown): Rejected {
  const meta = isObject(params) && isObject(params._meta) ? params._meta : undefined
  const missing = meta === undefined ? ['_meta'] : REQUIRED_KEYS.filter(key => !(key in meta))
  const message =
    `Invalid params: the MCP-Protocol-Version header names protocol revision ${version}, ` +
    `but the request is missing the required per-request envelope key(s): ${missing.join(', ')}`
  return reject(400, id, INVALID_PARAMS, message, { envelope: { missing } })
}

/** The params without the era's own metadata; what else is in `_meta` (progress token, trace context) stays. */
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
