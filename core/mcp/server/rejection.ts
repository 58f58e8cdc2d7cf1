/** A refusal by the front: the JSON-RPC error and the HTTP status that a request is answered with. Pure. */
import type { JsonValue } from '../../json.ts'
import type { JsonRpcError } from '../upstream.ts'

export type RequestId = string | number

export type Rejected = {
  kind: 'rejected'
  status: number
  id: RequestId | null
  error: JsonRpcError
  /** Name and value in turn, for the answer's head. */
  headers?: readonly string[]
}

export const PARSE_ERROR = -32700
export const INVALID_REQUEST = -32600
export const METHOD_NOT_FOUND = -32601
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603
/** No code of its own in the specification: the SDKs answer transport faults so. */
export const TRANSPORT_ERROR = -32000
export const SESSION_NOT_FOUND = -32001
/** 2025 era only; 2026-07-28 says invalid params instead. */
export const RESOURCE_NOT_FOUND = -32002
export const HEADER_MISMATCH = -32020
/** The caller would have to be asked for something that it did not declare. */
export const MISSING_CAPABILITY = -32021
/** 2025 era only: the user has to visit a page first. */
export const URL_ELICITATION_REQUIRED = -32042
export const UNSUPPORTED_VERSION = -32022

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

/** 400 and −32020: a header and the body say different things. */
export function rejectMismatch(id: RequestId | null, header: string, problem: string): Rejected {
  const message = `Bad Request: the request headers and body disagree: ${problem}`
  return reject(400, id, HEADER_MISMATCH, message, { mismatch: { header, body: problem } })
}

/** 404 and −32001: a client that gets this begins again by itself. */
export function rejectUnknownSession(): Rejected {
  return reject(404, null, SESSION_NOT_FOUND, 'Session not found; initialize again')
}
