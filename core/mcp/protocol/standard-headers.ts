/** What a request to an upstream of the 2026-07-28 revision carries besides its params: keys of `_meta`, and headers. Pure. */
import packageJson from '../../../package.json' with { type: 'json' }
import type { JsonObject } from '../../json.ts'
import { INVALID_PARAMS } from '../server/rejection.ts'
import type { UpstreamAnswer, UpstreamCall } from '../upstream.ts'
import { encodeHeaderValue } from './header-value.ts'
import {
  META_CLIENT_CAPABILITIES,
  META_CLIENT_INFO,
  META_LOG_LEVEL,
  META_PROTOCOL_VERSION,
} from './revisions.ts'

export const CLIENT_INFO: JsonObject = { name: 'portolan', version: packageJson.version }

/** The keys that go into `_meta`: our name, and what the caller declared. */
export function envelopeOf(
  { capabilities, logLevel }: Pick<UpstreamCall, 'capabilities' | 'logLevel'>,
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

/** Methods whose `Mcp-Name` header repeats a field of the params, and which. */
export const NAME_FIELD: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
])

/** The headers that repeat what the body of a request says (SEP-2243). */
export function standardHeaders({ method, params }: UpstreamCall, version: string): Record<string, string> {
  const headers: Record<string, string> = { 'mcp-protocol-version': version, 'mcp-method': method }
  const name = params?.[NAME_FIELD.get(method) ?? '']
  if (typeof name === 'string') headers['mcp-name'] = encodeHeaderValue(name)
  return headers
}

/**
 * The answer to a call that brings answers to questions of the 2026 era, where the upstream is of the 2025 era and asks in another way;
 * undefined where it brings none. They would be dropped in silence.
 */
export function refusedAnswers({ params }: UpstreamCall): UpstreamAnswer | undefined {
  if (params === undefined || (params.requestState === undefined && params.inputResponses === undefined))
    return undefined
  const message =
    'The server waits for no answers: its question is over, or was never asked. Call again without inputResponses and requestState'
  return { error: { code: INVALID_PARAMS, message } }
}
