/** One MCP session with an upstream, whatever carries it, and the handshake that begins it. */
import { Fault } from '../../errors.ts'
import { isObject } from '../../json.ts'
import type { UpstreamAnswer, UpstreamCall, UpstreamInfo } from '../upstream.ts'
import type { Notification } from './message.ts'

export type Session = {
  readonly info: UpstreamInfo
  /** `lost`: the upstream does not know the session any more and surely did nothing with the request. */
  request(call: UpstreamCall, signal: AbortSignal): Promise<UpstreamAnswer | 'lost'>
  /** Ends calls in flight with a Fault and tells the upstream, best effort. */
  close(): Promise<void>
}

export type SessionHooks = {
  /** A notification that belongs to no call. */
  notified(notification: Notification): void
  /** The session ended by itself; it is not used again. */
  lost(): void
  /** Whether to listen for what the upstream says between calls. */
  listen: boolean
}

export type OpenSession = (hooks: SessionHooks, signal: AbortSignal) => Promise<Session>

const ACCEPTED_VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
/** An answer to initialize holds instructions at most. */
const MAX_HANDSHAKE_BYTES = 4 * 1024 * 1024

const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'portolan', version: '0.1.0' },
}

/** The first request of a session. Throws Fault upstream_protocol where its answer is none of the 2025 era. */
export async function initialize(ask: Session['request'], signal: AbortSignal): Promise<UpstreamInfo> {
  const answer = await ask(
    { method: 'initialize', params: INITIALIZE, maxBytes: MAX_HANDSHAKE_BYTES },
    signal,
  )
  if (answer === 'lost')
    throw new Fault('upstream_protocol', 'The upstream refuses the session that it just opened')
  return readInitialize(answer)
}

function readInitialize(answer: UpstreamAnswer): UpstreamInfo {
  if (answer.error) {
    const message = `The upstream refuses to initialize: ${answer.error.message.slice(0, 300)}`
    throw new Fault('upstream_protocol', message, { details: { code: answer.error.code } })
  }
  const { protocolVersion, capabilities, serverInfo, instructions } = answer.result
  if (typeof protocolVersion !== 'string' || !ACCEPTED_VERSIONS.includes(protocolVersion)) {
    const offered = typeof protocolVersion === 'string' ? protocolVersion.slice(0, 50) : 'none'
    throw new Fault('upstream_protocol', `The upstream speaks no protocol revision that we know (${offered})`)
  }
  return {
    protocolVersion,
    capabilities: isObject(capabilities) ? capabilities : {},
    ...(isObject(serverInfo) ? { serverInfo } : {}),
    ...(typeof instructions === 'string' ? { instructions } : {}),
  }
}
