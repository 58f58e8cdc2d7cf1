/** The probe command of pods: checks that an HTTP server speaks MCP. */
import { messageOf } from '../core/errors.ts'
import { isObject, type JsonObject, tryParseJson } from '../core/json.ts'
import {
  LEGACY_VERSIONS,
  META_CLIENT_CAPABILITIES,
  META_CLIENT_INFO,
  META_PROTOCOL_VERSION,
  MODERN_VERSIONS,
} from '../core/mcp/protocol/revisions.ts'
import packageJson from '../package.json' with { type: 'json' }

const MAX_ANSWER_BYTES = 1024 * 1024
const CLIENT_INFO = { name: 'portolan-probe', version: packageJson.version }
const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const [MODERN_VERSION = ''] = MODERN_VERSIONS
const DATA = /^data: ?(.*)$/gm

/**
 * Undefined if an MCP server answers at `url` in time, else the reason. A server that requires credentials counts as alive. If nothing
 * listens on 127.0.0.1, the probe tries ::1: in an IPv6-only cluster, servers may listen on IPv6 addresses only.
 */
export async function probe(url: string, timeoutMs: number): Promise<string | undefined> {
  const signal = AbortSignal.timeout(timeoutMs)
  const reason = await probeAt(url, timeoutMs, signal)
  const { hostname } = new URL(url)
  if (hostname !== '127.0.0.1' || !reason?.includes('ECONNREFUSED')) return reason
  const ipv6Reason = await probeAt(url.replace(hostname, '[::1]'), timeoutMs, signal)
  return ipv6Reason && reason
}

/** Tries the handshake of 2025, then `server/discover` of 2026-07-28. If both fail, returns the reason of the first. */
async function probeAt(url: string, timeoutMs: number, signal: AbortSignal): Promise<string | undefined> {
  try {
    const legacyReason = await ask(url, 'initialize', initializeParams(), {}, signal)
    if (legacyReason === undefined) return undefined
    const headers = { 'mcp-protocol-version': MODERN_VERSION, 'mcp-method': 'server/discover' }
    const modernReason = await ask(url, 'server/discover', discoverParams(), headers, signal)
    return modernReason === undefined ? undefined : legacyReason
  } catch (error) {
    if (signal.aborted) return `no answer within ${timeoutMs / 1000} s`
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    return messageOf(cause) || String((cause as { code?: unknown }).code)
  }
}

function initializeParams(): JsonObject {
  const [protocolVersion = ''] = LEGACY_VERSIONS
  return { protocolVersion, capabilities: {}, clientInfo: CLIENT_INFO }
}

function discoverParams(): JsonObject {
  return {
    _meta: {
      [META_PROTOCOL_VERSION]: MODERN_VERSION,
      [META_CLIENT_INFO]: CLIENT_INFO,
      [META_CLIENT_CAPABILITIES]: {},
    },
  }
}

/** Returns why the answer is not valid MCP; undefined if it is. */
async function ask(
  url: string,
  method: string,
  params: JsonObject,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...HEADERS, ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    redirect: 'manual',
    signal,
  })
  const { status } = response
  if (status === 401 || status === 403) {
    await response.body?.cancel()
    return undefined
  }
  const found = await readResult(response)
  await endSession(url, response.headers.get('mcp-session-id'), signal)
  if (found) return undefined
  return `the answer to ${method} has status ${status} and is not MCP`
}

/** Whether the response contains a result; a stream is read until there is one. */
async function readResult(response: Response): Promise<boolean> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > MAX_ANSWER_BYTES) return false
    if (isStream && [...text.matchAll(DATA)].some(([, data = '']) => isResult(data))) return true
  }
  return !isStream && isResult(text)
}

function isResult(text: string): boolean {
  const message = tryParseJson(text)
  return isObject(message) && message.jsonrpc === '2.0' && isObject(message.result)
}

/** Ends the session that the probe opened. */
async function endSession(url: string, session: string | null, signal: AbortSignal): Promise<void> {
  if (session === null) return
  const headers = { 'mcp-session-id': session, 'mcp-protocol-version': LEGACY_VERSIONS[0] ?? '' }
  await fetch(url, { method: 'DELETE', headers, redirect: 'manual', signal })
    .then(response => response.body?.cancel())
    .catch(() => {})
}
