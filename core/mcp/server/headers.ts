/** Reads and checks the HTTP headers of a request, for both eras. Pure. */
import type { JsonObject } from '../../json.ts'
import { TRANSPORT_ERROR } from '../protocol/error-codes.ts'
import { decodeHeaderValue } from '../protocol/header-value.ts'
import type { RequestId } from '../protocol/json-rpc.ts'
import { NAME_FIELD } from '../protocol/standard-headers.ts'
import { type Rejected, reject, rejectMismatch } from './rejection.ts'

/** Names in lower case, as node:http gives them. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>

const USUAL_ACCEPT = 'application/json, text/event-stream'
const USUAL_CONTENT_TYPE = 'application/json'

/** The header as one string; undefined if it is absent or empty. */
export function headerOf(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name]
  return (typeof value === 'string' ? value : value?.join(', ')) || undefined
}

/** The body must be JSON, and Accept must allow JSON and event streams (wildcards count). */
export function checkMediaTypes(headers: RequestHeaders): Rejected | undefined {
  const type = headers['content-type']
  if (type !== USUAL_CONTENT_TYPE && mediaTypes(type)[0] !== USUAL_CONTENT_TYPE) {
    return reject(415, null, TRANSPORT_ERROR, 'Unsupported Media Type: Content-Type must be application/json')
  }
  const accept = headers.accept
  if (accept === USUAL_ACCEPT) return undefined
  const accepted = mediaTypes(accept)
  const takes = (group: string, subtype: string) =>
    accepted.some(one => one === `${group}/${subtype}` || one === `${group}/*` || one === '*/*')
  if (takes('application', 'json') && takes('text', 'event-stream')) return undefined
  return reject(
    406,
    null,
    TRANSPORT_ERROR,
    'Not Acceptable: Client must accept both application/json and text/event-stream',
  )
}

/** Whether the Accept header of a GET allows an event stream. */
export function takesEventStream({ accept }: RequestHeaders): boolean {
  return mediaTypes(accept).some(type => type === 'text/event-stream' || type === 'text/*' || type === '*/*')
}

function mediaTypes(header: string | string[] | undefined): string[] {
  const text = typeof header === 'string' ? header : (header?.join(',') ?? '')
  return text.split(',').map(part => (part.split(';', 1)[0] ?? '').trim().toLowerCase())
}

/**
 * Checks that a 2026-07-28 request has the standard headers, and that `Mcp-Name` agrees with its body; `readMessage` has compared the
 * others, if present.
 * Source: SEP-2243, in the order and with the codes of `validateStandardRequestHeaders` of the 2.x SDK.
 */
export function checkStandardHeaders(
  headers: RequestHeaders,
  id: RequestId,
  method: string,
  params: JsonObject,
): Rejected | undefined {
  if (!headerOf(headers, 'mcp-protocol-version')) {
    return rejectMismatch(id, '(missing)', 'the required MCP-Protocol-Version header is absent')
  }
  if (!headerOf(headers, 'mcp-method')) {
    return rejectMismatch(
      id,
      '(missing)',
      `the body names method ${method} but the required Mcp-Method header is absent`,
    )
  }
  const field = NAME_FIELD.get(method)
  return field === undefined ? undefined : checkName(headers, id, field, params[field])
}

function checkName(
  headers: RequestHeaders,
  id: RequestId,
  field: string,
  inBody: unknown,
): Rejected | undefined {
  const header = headerOf(headers, 'mcp-name')
  if (typeof inBody !== 'string') return undefined
  if (header === undefined) {
    return rejectMismatch(
      id,
      '(missing)',
      `the body carries params.${field}="${inBody}" but the required Mcp-Name header is absent`,
    )
  }
  const named = decodeHeaderValue(header)
  if (named === undefined)
    return rejectMismatch(id, header, 'the Mcp-Name header carries an invalid Base64 sentinel value')
  if (named === inBody) return undefined
  return rejectMismatch(
    id,
    header,
    `the body carries params.${field}="${inBody}" but the Mcp-Name header names "${named}"`,
  )
}
