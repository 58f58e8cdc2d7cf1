/** Decides which servers are not offered elicitation, sampling and roots, because nobody could answer their questions. Pure. */
import { isModernVersion } from '../mcp/protocol/revisions.ts'
import type { RouterServer } from './router-config.ts'

export const NOT_OFFERED =
  'not offered elicitation, sampling and roots, because several clients share a session ("sessions: perClient" offers them)'

/**
 * Whether a server cannot ask its clients questions (elicitation, sampling, roots). Over stdio and SSE, a question of the 2025 era arrives on
 * the session's stream and belongs to no call: in a session that several clients share, it is unknown which client it is for. `protocol`: the
 * negotiated revision.
 */
export function cannotAskQuestions(
  { transport, sessions }: Pick<RouterServer, 'transport' | 'sessions'>,
  protocol: string,
): boolean {
  return sessions !== 'perClient' && transport !== 'http' && !isModernVersion(protocol)
}
