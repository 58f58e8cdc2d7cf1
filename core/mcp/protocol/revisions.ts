/** The supported protocol revisions, their eras, and the reserved `_meta` keys. Pure. */

/** `legacy`: initialize and optional sessions, up to 2025-11-25. `modern`: no handshake, metadata in every request. */
export type Era = 'legacy' | 'modern'

/** Newest first; the first is offered to a client that requests an unknown one. */
export const LEGACY_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']
export const MODERN_VERSIONS: readonly string[] = ['2026-07-28']
const FIRST_MODERN_VERSION = '2026-07-28'
/** From this revision on, a body holds exactly one message. */
const FIRST_VERSION_WITHOUT_BATCHES = '2025-06-18'

const META_PREFIX = 'io.modelcontextprotocol/'
export const META_PROTOCOL_VERSION = `${META_PREFIX}protocolVersion`
export const META_CLIENT_INFO = `${META_PREFIX}clientInfo`
export const META_CLIENT_CAPABILITIES = `${META_PREFIX}clientCapabilities`
export const META_LOG_LEVEL = `${META_PREFIX}logLevel`
export const META_SERVER_INFO = `${META_PREFIX}serverInfo`
export const META_SUBSCRIPTION_ID = `${META_PREFIX}subscriptionId`

/** Revisions are ISO dates, so text order is time order; the 2.x SDK decides the same way. */
export function isModernVersion(version: string): boolean {
  return version >= FIRST_MODERN_VERSION
}

/** Whether a body may hold several messages. `version`: undefined if the client names none. */
export function allowsBatches(version: string | undefined): boolean {
  return version === undefined || version < FIRST_VERSION_WITHOUT_BATCHES
}
