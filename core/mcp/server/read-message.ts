/**
 * Validates one HTTP body as a message of either era, or returns the error to answer with. Pure.
 * The body decides the era, as in `createMcpHandler` of the 2.x SDK; headers are only checked against it.
 */

import { isDeeper } from '../../../crds/depth.ts'
import { isObject, type JsonObject, type JsonValue } from '../../json.ts'
import { askable } from '../protocol/capabilities.ts'
import { envelopeIssue, hasEnvelope, withoutEnvelope } from '../protocol/envelope.ts'
import {
  INVALID_REQUEST,
  METHOD_NOT_FOUND,
  TRANSPORT_ERROR,
  UNSUPPORTED_VERSION,
} from '../protocol/error-codes.ts'
import type { RequestId } from '../protocol/json-rpc.ts'
import { MAX_LEVELS } from '../protocol/message.ts'
import {
  allowsBatches,
  type Era,
  isModernVersion,
  LEGACY_VERSIONS,
  META_CLIENT_CAPABILITIES,
  META_CLIENT_INFO,
  META_LOG_LEVEL,
  META_PROTOCOL_VERSION,
  MODERN_VERSIONS,
} from '../protocol/revisions.ts'
import { clientName } from './client-label.ts'
import { checkStandardHeaders, headerOf, type RequestHeaders } from './headers.ts'
import { type Rejected, reject, rejectEnvelope, rejectMismatch, rejectMissingEnvelope } from './rejection.ts'

export type InboundRequest = {
  kind: 'request'
  era: Era
  id: RequestId
  method: string
  /** Without the envelope. */
  params: JsonObject
  /** As in `Caller`; in the 2026 era each request carries them. */
  capabilities?: JsonObject
  logLevel?: string
  /** The name that the client gives itself, for logs; in the 2026 era each request carries it. */
  clientName?: string
}
export type InboundNotification = { kind: 'notification'; era: Era; method: string; params: JsonObject }
/** A client's answer to a question, as received. */
export type InboundResponse = { kind: 'response'; message: JsonObject }
export type InboundBatch = {
  kind: 'batch'
  messages: (InboundRequest | InboundNotification | InboundResponse)[]
}
export type Inbound = InboundRequest | InboundNotification | InboundResponse | InboundBatch | Rejected

export const MAX_BATCH_MESSAGES = 50

/** Methods that 2026-07-28 removed, or that only clients answer. Any other method is passed to the handler. */
const LEGACY_METHODS: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'elicitation/create',
  'sampling/createMessage',
  'roots/list',
])

/** Validates a parsed body and its headers. Never throws. */
export function readMessage(headers: RequestHeaders, body: unknown): Inbound {
  return Array.isArray(body) ? readBatch(headers, body) : readOne(headers, body)
}

function readOne(headers: RequestHeaders, body: unknown): Exclude<Inbound, InboundBatch> {
  if (!isObject(body) || body.jsonrpc !== '2.0') return invalid(body)
  const { method, params, id } = body
  if (typeof method !== 'string')
    return isResponse(body) ? { kind: 'response', message: body } : invalid(body)
  if (params !== undefined && !isObject(params)) return invalid(body)
  if (id === undefined) return readNotification(headers, method, params ?? {})
  return isRequestId(id) ? readRequest(headers, id, method, params ?? {}) : invalid(body)
}

function invalid(body: unknown): Rejected {
  const id = isObject(body) && isRequestId(body.id) ? body.id : null
  return reject(400, id, INVALID_REQUEST, 'Bad Request: the request body is not a valid JSON-RPC message')
}

function isRequestId(id: JsonValue | undefined): id is RequestId {
  return typeof id === 'string' || Number.isSafeInteger(id)
}

function isResponse(body: JsonObject): boolean {
  return 'id' in body && ('result' in body || 'error' in body)
}

function readRequest(
  headers: RequestHeaders,
  id: RequestId,
  method: string,
  params: JsonObject,
): InboundRequest | Rejected {
  const version = headerOf(headers, 'mcp-protocol-version')
  if (method === 'initialize' && !claimsModern(params)) {
    if (version !== undefined && isModernVersion(version)) {
      return rejectMismatch(
        id,
        version,
        'an initialize request (legacy handshake) was sent with a modern MCP-Protocol-Version header',
      )
    }
    return legacy(id, method, params)
  }
  if (hasEnvelope(params)) return readModern(headers, id, method, params)
  if (version !== undefined && !LEGACY_VERSIONS.includes(version)) {
    return isModernVersion(version)
      ? rejectMissingEnvelope(id, version, params)
      : rejectLegacyVersion(id, version)
  }
  return legacy(id, method, params)
}

function legacy(id: RequestId, method: string, params: JsonObject): InboundRequest {
  return { kind: 'request', era: 'legacy', id, method, params }
}

/** Checks the revision of a GET or DELETE, which the 2026 era does not have. */
export function checkWithoutBody(headers: RequestHeaders): Rejected | undefined {
  const version = headerOf(headers, 'mcp-protocol-version')
  if (version === undefined || LEGACY_VERSIONS.includes(version)) return undefined
  if (!isModernVersion(version)) return rejectLegacyVersion(null, version)
  const message = 'This protocol revision uses POST only; to receive changes, use subscriptions/listen'
  return { ...reject(405, null, TRANSPORT_ERROR, message), headers: ['allow', 'POST'] }
}

function rejectLegacyVersion(id: RequestId | null, version: string): Rejected {
  const supported = [...LEGACY_VERSIONS, ...MODERN_VERSIONS].join(', ')
  const message = `Bad Request: Unsupported protocol version: ${version} (supported versions: ${supported})`
  return reject(400, id, TRANSPORT_ERROR, message)
}

/** Whether `initialize` has a valid 2026 envelope; otherwise it is the 2025 handshake. */
function claimsModern(params: JsonObject): boolean {
  if (!hasEnvelope(params)) return false
  const meta = params._meta as JsonObject
  return envelopeIssue(meta) === undefined && isModernVersion(meta[META_PROTOCOL_VERSION] as string)
}

function readModern(
  headers: RequestHeaders,
  id: RequestId,
  method: string,
  params: JsonObject,
): InboundRequest | Rejected {
  const meta = params._meta as JsonObject
  const issue = envelopeIssue(meta)
  if (issue) return rejectEnvelope(id, issue)
  const claimed = meta[META_PROTOCOL_VERSION] as string
  const wrong =
    checkVersionHeader(headers, id, claimed) ??
    checkMethodHeader(headers, id, method) ??
    checkSupported(id, claimed) ??
    checkStandardHeaders(headers, id, method, params)
  if (wrong) return wrong
  if (LEGACY_METHODS.has(method)) return reject(404, id, METHOD_NOT_FOUND, 'Method not found')
  return {
    kind: 'request',
    era: 'modern',
    id,
    method,
    params: withoutEnvelope(params),
    capabilities: askable(meta[META_CLIENT_CAPABILITIES]),
    logLevel: meta[META_LOG_LEVEL] as string | undefined,
    clientName: clientName(meta[META_CLIENT_INFO]),
  }
}

function checkSupported(id: RequestId | null, claimed: string): Rejected | undefined {
  if (MODERN_VERSIONS.includes(claimed)) return undefined
  const data = { supported: [...MODERN_VERSIONS], requested: claimed }
  return reject(400, id, UNSUPPORTED_VERSION, `Unsupported protocol version: ${claimed}`, data)
}

function checkVersionHeader(
  headers: RequestHeaders,
  id: RequestId | null,
  claimed: string,
): Rejected | undefined {
  const version = headerOf(headers, 'mcp-protocol-version')
  if (version === undefined || version === claimed) return undefined
  return rejectMismatch(
    id,
    version,
    `the body envelope names protocol version ${claimed} but the MCP-Protocol-Version header names ${version}`,
  )
}

function checkMethodHeader(
  headers: RequestHeaders,
  id: RequestId | null,
  method: string,
): Rejected | undefined {
  const named = headerOf(headers, 'mcp-method')
  if (named === undefined || named === method) return undefined
  return rejectMismatch(id, named, `the body names method ${method} but the Mcp-Method header names ${named}`)
}

/** Notifications usually have no envelope; then the header decides the era. */
function readNotification(
  headers: RequestHeaders,
  method: string,
  params: JsonObject,
): InboundNotification | Rejected {
  if (isDeeper(params, MAX_LEVELS)) {
    const problem = `Bad Request: the params of a notification are nested more than ${MAX_LEVELS} levels deep`
    return reject(400, null, INVALID_REQUEST, problem)
  }
  const version = headerOf(headers, 'mcp-protocol-version')
  const enveloped = hasEnvelope(params)
  const claimed = enveloped ? (params._meta as JsonObject)[META_PROTOCOL_VERSION] : version
  if (enveloped && typeof claimed !== 'string') {
    return rejectEnvelope(null, { key: META_PROTOCOL_VERSION, problem: 'expected a protocol version string' })
  }
  if (typeof claimed !== 'string' || (!enveloped && LEGACY_VERSIONS.includes(claimed))) {
    return { kind: 'notification', era: 'legacy', method, params }
  }
  if (!enveloped && !isModernVersion(claimed)) return rejectLegacyVersion(null, claimed)
  const wrong =
    checkVersionHeader(headers, null, claimed) ??
    (isModernVersion(claimed) ? checkMethodHeader(headers, null, method) : undefined) ??
    checkSupported(null, claimed)
  return wrong ?? { kind: 'notification', era: 'modern', method, params: withoutEnvelope(params) }
}

function readBatch(headers: RequestHeaders, body: unknown[]): InboundBatch | Rejected {
  const refuse = (problem: string) => reject(400, null, INVALID_REQUEST, `Bad Request: ${problem}`)
  if (!allowsBatches(headerOf(headers, 'mcp-protocol-version'))) {
    return refuse('JSON-RPC batches were removed in protocol revision 2025-06-18; send one message a request')
  }
  if (body.length === 0) return refuse('empty JSON-RPC batch')
  if (body.length > MAX_BATCH_MESSAGES) {
    return refuse(`a JSON-RPC batch must not exceed ${MAX_BATCH_MESSAGES} messages`)
  }
  const messages: InboundBatch['messages'] = []
  for (const element of body) {
    const message = readOne(headers, element)
    if (message.kind === 'rejected') return { ...message, id: null }
    if ('era' in message && message.era === 'modern') {
      return refuse('JSON-RPC batches may not contain requests for protocol revision 2026-07-28 or later')
    }
    if (message.kind === 'request' && message.method === 'initialize') {
      return refuse('initialize must be sent alone')
    }
    messages.push(message)
  }
  return { kind: 'batch', messages }
}
