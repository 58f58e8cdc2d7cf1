/** Writes JSON-RPC answers in the form of each era; a result's kept text is inserted unchanged. Pure. */
import { isObject, type JsonObject } from '../../json.ts'
import {
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  MISSING_CAPABILITY,
  RESOURCE_NOT_FOUND,
} from '../protocol/error-codes.ts'
import type { JsonRpcError, RequestId } from '../protocol/json-rpc.ts'
import { type Era, LEGACY_VERSIONS, META_SERVER_INFO, MODERN_VERSIONS } from '../protocol/revisions.ts'
import type { RouteDescription } from './handler.ts'
import { legacyText } from './legacy-result.ts'

/** How long and by whom an answer may be cached; 2026-07-28 requires it on every list. */
export type CachePolicy = { ttlMs: number; cacheScope: 'public' | 'private' }

/** `resultText`: the JSON text of `result` as the server sent it, if it was kept. */
export type Result = { result: JsonObject; resultText?: string }

const CACHEABLE: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'server/discover',
])
const NOT_CACHED: CachePolicy = { ttlMs: 0, cacheScope: 'private' }

/** The id as JSON text. */
export function idText(id: RequestId | null): string {
  return typeof id === 'number' ? `${id}` : JSON.stringify(id)
}

/** The answer for a 2025 caller, without members that only 2026-07-28 defines. */
export function legacyResultText(id: RequestId, { result, resultText }: Result): string {
  return answerText(id, legacyText(result, resultText))
}

function answerText(id: RequestId, result: string): string {
  return `{"jsonrpc":"2.0","id":${idText(id)},"result":${result}}`
}

/**
 * The answer of 2026-07-28: `resultType` on every result, `ttlMs` and `cacheScope` on cacheable ones, the server's name
 * in `_meta`. Values that the handler set stay. Source: encodeContract of the 2.x SDK.
 */
export function modernResultText(
  id: RequestId,
  method: string,
  reply: Result,
  serverInfo: JsonObject | undefined,
  policy: CachePolicy = NOT_CACHED,
): string {
  const { result } = reply
  const added: JsonObject = {}
  if (result.resultType === undefined) added.resultType = 'complete'
  if (CACHEABLE.has(method)) {
    if (result.ttlMs === undefined) added.ttlMs = policy.ttlMs
    if (result.cacheScope === undefined) added.cacheScope = policy.cacheScope
  }
  const meta = result._meta
  if (serverInfo !== undefined && isObject(meta) && meta[META_SERVER_INFO] === undefined) {
    const stamped = { ...result, ...added, _meta: { ...meta, [META_SERVER_INFO]: serverInfo } }
    return answerText(id, JSON.stringify(stamped))
  }
  if (serverInfo !== undefined && meta === undefined) added._meta = { [META_SERVER_INFO]: serverInfo }
  return answerText(id, withMembers(added, reply))
}

/** Puts the members of `added` in front of the result's text, without serializing the result again. */
function withMembers(added: JsonObject, { result, resultText }: Result): string {
  const text = resultText ?? JSON.stringify(result)
  const front = JSON.stringify(added)
  if (front === '{}') return text
  const rest = text.slice(text.indexOf('{') + 1)
  return Object.keys(result).length === 0 ? front : `${front.slice(0, -1)},${rest}`
}

/** The JSON text of an error answer. */
export function errorText(id: RequestId | null, error: JsonRpcError): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error })
}

/** The error as the era expresses it: 2026-07-28 has no error code for missing resources, and uses −32602 for them. */
export function eraError(era: Era, error: JsonRpcError): JsonRpcError {
  return era === 'modern' && error.code === RESOURCE_NOT_FOUND ? { ...error, code: INVALID_PARAMS } : error
}

/** HTTP status of a handler's error: 200, except for two codes in the 2026 era. */
export function errorStatus(era: Era, { code }: JsonRpcError): number {
  if (era === 'legacy') return 200
  return code === METHOD_NOT_FOUND ? 404 : code === MISSING_CAPABILITY ? 400 : 200
}

/** The answer to `initialize`: the client's revision if supported, else our newest of that era. */
export function initializeResult(params: JsonObject, description: RouteDescription): JsonObject {
  const requested = params.protocolVersion
  const protocolVersion =
    LEGACY_VERSIONS.find(version => version === requested) ?? (LEGACY_VERSIONS[0] as string)
  return { protocolVersion, ...described(description), serverInfo: description.serverInfo }
}

/** The answer to `server/discover`; `modernResultText` adds the server info. */
export function discoverResult(description: RouteDescription): JsonObject {
  return { supportedVersions: [...MODERN_VERSIONS], ...described(description) }
}

function described({ capabilities, instructions, meta }: RouteDescription): JsonObject {
  return {
    capabilities,
    ...(instructions === undefined ? {} : { instructions }),
    ...(meta === undefined ? {} : { _meta: meta }),
  }
}
