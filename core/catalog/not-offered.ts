/** Decides which servers are not offered questions (elicitation, sampling, roots). Pure. */
import { isModernVersion } from '../mcp/protocol/revisions.ts'
import type { RouterServer } from './router-config.ts'

export const NOT_OFFERED =
  'as clients share it, it is not offered elicitation, sampling and roots: sessions: perClient would offer them'

/**
 * Over stdio and SSE, a question of the 2025 era arrives on the session's stream and belongs to no call: in a session that all clients
 * share, it is unknown which client it is for. `protocol` is the negotiated revision.
 */
export function canAskNothing(
  { transport, sessions }: Pick<RouterServer, 'transport' | 'sessions'>,
  protocol: string,
): boolean {
  return sessions !== 'perClient' && transport !== 'http' && !isModernVersion(protocol)
}
