/** Which servers can ask nothing of their clients, and what would change that. Pure. */
import { isModernVersion } from '../mcp/protocol/revisions.ts'
import type { RouterServer } from './router-config.ts'

export const NOT_OFFERED =
  'as all clients share it, it is not offered elicitation, sampling and roots: sessions: perClient would offer them'

/**
 * A question of the 2025 era comes on a stream of its own where the transport is stdio or SSE, and belongs to no call: of a session that
 * all clients share nobody knows whom it is for. `protocol` is the revision that was negotiated.
 */
export function canAskNothing(
  { transport, sessions }: Pick<RouterServer, 'transport' | 'sessions'>,
  protocol: string,
): boolean {
  return sessions === 'shared' && transport !== 'http' && !isModernVersion(protocol)
}
