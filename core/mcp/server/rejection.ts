/** A rejected request: the HTTP status and the JSON-RPC error of the response. Pure. */
import { isObject, type JsonValue } from '../../json.ts'
import { type EnvelopeIssue, REQUIRED_KEYS } from '../protocol/envelope.ts'
import { HEADER_MISMATCH, INVALID_PARAMS, SESSION_NOT_FOUND } from '../protocol/error-codes.ts'
import type { JsonRpcError, RequestId } from '../protocol/json-rpc.ts'

export type Rejected = {
  kind: 'rejected'
  status: number
  id: RequestId | null
  error: JsonRpcError
  /** Further response headers: names and values in turn. */
  headers?: readonly string[]
}

export function reject(
  status: number,
  id: RequestId | null,
  code: number,
  message: string,
  data?: JsonValue,
): Rejected {
  return {
    kind: 'rejected',
    status,
    id,
    error: data === undefined ? { code, message } : { code, message, data },
  }
}

/** 400 and −32020: a header and the body disagree. `header`: its value. */
export function rejectMismatch(id: RequestId | null, header: string, problem: string): Rejected {
  const message = `Bad Request: the request headers and body disagree: ${problem}`
  return reject(400, id, HEADER_MISMATCH, message, { mismatch: { header, body: problem } })
}

/** 404 and −32001, after which clients initialize again by themselves. */
export function rejectUnknownSession(): Rejected {
  return reject(404, null, SESSION_NOT_FOUND, 'Session not found; initialize again')
}

/** 400 and −32602, naming the invalid key. */
export function rejectEnvelope(id: RequestId | null, issue: EnvelopeIssue): Rejected {
  const message = `Invalid _meta envelope for protocol revision 2026-07-28: ${issue.key}: ${issue.problem}`
  return reject(400, id, INVALID_PARAMS, message, { envelope: issue })
}

/** 400 and −32602, naming the missing keys: the header names a 2026 revision, but the body has no envelope. */
export function rejectMissingEnvelope(id: RequestId, version: string, params: unknown): Rejected {
  const meta = isObject(params) && isObject(params._meta) ? params._meta : undefined
  const missing = meta === undefined ? ['_meta'] : REQUIRED_KEYS.filter(key => !(key in meta))
  const message =
    `Invalid params: the MCP-Protocol-Version header names protocol revision ${version}, ` +
    `but the request is missing the required per-request envelope key(s): ${missing.join(', ')}`
  return reject(400, id, INVALID_PARAMS, message, { envelope: { missing } })
}
