/** The handshake that begins a session with an upstream of the 2025 era. */
import packageJson from '../../package.json' with { type: 'json' }
import { Fault } from '../errors.ts'
import { isObject, type JsonObject } from '../json.ts'
import type { UpstreamAnswer, UpstreamCall, UpstreamInfo } from './upstream.ts'

const ACCEPTED_VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
/** An answer to initialize holds instructions at most. */
const MAX_HANDSHAKE_BYTES = 4 * 1024 * 1024

const INITIALIZE = {
  protocolVersion: '2025-11-25',
  clientInfo: { name: 'portolan', version: packageJson.version },
}

type Ask = (call: UpstreamCall, signal: AbortSignal) => Promise<UpstreamAnswer | 'lost'>

/** The first request of a session; `capabilities` are what we can be asked for. Throws Fault upstream_protocol where its answer is none of the 2025 era. */
export async function initialize(
  ask: Ask,
  signal: AbortSignal,
  capabilities: JsonObject = {},
): Promise<UpstreamInfo> {
  const answer = await ask(
    { method: 'initialize', params: { ...INITIALIZE, capabilities }, maxBytes: MAX_HANDSHAKE_BYTES },
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
