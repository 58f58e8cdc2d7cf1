/** The handshake with an upstream: `initialize` in the 2025 era, `server/discover` in the 2026 era. */
import { Fault } from '../../errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../../json.ts'
import { OURSELVES } from '../caller.ts'
import { CLIENT_INFO, envelopeOf } from '../protocol/envelope.ts'
import { UNSUPPORTED_VERSION } from '../protocol/error-codes.ts'
import type { JsonRpcError, McpResponse } from '../protocol/json-rpc.ts'
import { LEGACY_VERSIONS, META_SERVER_INFO, MODERN_VERSIONS } from '../protocol/revisions.ts'
import type { UpstreamCall, UpstreamInfo } from '../upstream.ts'

/** Either answer can contain long instructions, but nothing larger. */
const MAX_HANDSHAKE_BYTES = 4 * 1024 * 1024
/** In `_meta` of either answer: the revision that the server behind a bridge speaks itself. */
export const META_OWN_PROTOCOL = 'portolan.dev/protocol'
const INITIALIZE = { protocolVersion: LEGACY_VERSIONS[0], clientInfo: CLIENT_INFO }

/** `wireVersion` is sent in headers and envelopes. Behind a bridge it is the bridge's revision, and `protocolVersion` the server's. */
export type Negotiated = UpstreamInfo & { wireVersion: string }

/** Sends a request; resolves with `lost` if the upstream no longer knows the session. */
type Ask = (call: UpstreamCall, signal: AbortSignal) => Promise<McpResponse | 'lost'>

/** Opens a session; `capabilities` are those that we declare. Throws Fault upstream_protocol if the answer is not valid in the 2025 era. */
export async function initialize(
  ask: Ask,
  signal: AbortSignal,
  capabilities: JsonObject = {},
): Promise<Negotiated> {
  const answer = await ask(
    {
      method: 'initialize',
      params: { ...INITIALIZE, capabilities },
      caller: OURSELVES,
      maxBytes: MAX_HANDSHAKE_BYTES,
    },
    signal,
  )
  if (answer === 'lost')
    throw new Fault('upstream_protocol', 'The upstream refuses the session that it just opened')
  return readInitialize(answer)
}

/**
 * Probes whether the upstream speaks the 2026 era; undefined: it answered and does not. Timeouts, broken connections and HTTP errors
 * are thrown. As in the 2.x SDK's probe, any error but −32022 with a list of versions means a 2025 server.
 */
export async function probe(ask: Ask, signal: AbortSignal): Promise<Negotiated | undefined> {
  let [version = ''] = MODERN_VERSIONS
  for (let tries = 1; ; tries++) {
    const answer = await ask(discoverCall(version), signal)
    if (answer === 'lost') return undefined
    if (!answer.error) return readDiscover(answer.result)
    const offered = answer.error.code === UNSUPPORTED_VERSION ? supportedVersions(answer.error) : []
    const common = MODERN_VERSIONS.find(one => offered.includes(one))
    if (common === undefined || tries > 1) return undefined
    version = common
  }
}

function discoverCall(version: string): UpstreamCall {
  const params = { _meta: envelopeOf(OURSELVES, version) }
  return { method: 'server/discover', params, caller: OURSELVES, maxBytes: MAX_HANDSHAKE_BYTES }
}

/** The versions listed in an error −32022. */
function supportedVersions({ data }: JsonRpcError): JsonValue[] {
  return isObject(data) && Array.isArray(data.supported) ? data.supported : []
}

/** Undefined if the result is not valid, or offers no revision that we know. */
function readDiscover(result: JsonObject): Negotiated | undefined {
  const { supportedVersions: offered, _meta: meta, serverInfo } = result
  if (!Array.isArray(offered) || !isObject(result.capabilities)) return undefined
  const version = MODERN_VERSIONS.find(one => offered.includes(one))
  if (version === undefined) return undefined
  const named = isObject(meta) ? meta[META_SERVER_INFO] : undefined
  const info = infoOf(result, version, isObject(named) ? named : serverInfo)
  return { ...info, era: 'modern' }
}

function readInitialize(answer: McpResponse): Negotiated {
  if (answer.error) {
    const message = `The upstream refuses to initialize: ${answer.error.message.slice(0, 300)}`
    throw new Fault('upstream_protocol', message, { details: { code: answer.error.code } })
  }
  const { protocolVersion, serverInfo } = answer.result
  if (typeof protocolVersion !== 'string' || !LEGACY_VERSIONS.includes(protocolVersion)) {
    const offered = typeof protocolVersion === 'string' ? protocolVersion.slice(0, 50) : 'none'
    throw new Fault('upstream_protocol', `The upstream speaks no protocol revision that we know (${offered})`)
  }
  return infoOf(answer.result, protocolVersion, serverInfo)
}

function infoOf(result: JsonObject, version: string, serverInfo: JsonValue | undefined): Negotiated {
  const { capabilities, instructions, _meta: meta } = result
  const ofServer = isObject(meta) ? meta[META_OWN_PROTOCOL] : undefined
  const known = [...LEGACY_VERSIONS, ...MODERN_VERSIONS]
  return {
    protocolVersion: typeof ofServer === 'string' && known.includes(ofServer) ? ofServer : version,
    wireVersion: version,
    capabilities: isObject(capabilities) ? capabilities : {},
    ...(isObject(serverInfo) ? { serverInfo } : {}),
    ...(typeof instructions === 'string' ? { instructions } : {}),
  }
}
