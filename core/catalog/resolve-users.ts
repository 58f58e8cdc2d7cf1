/** Resolves what a router has to know of the users of a server with `sessions: perUser`. Pure. */
import { parseDuration } from '../../crds/quantity.ts'
import type { McpServer } from '../../crds/server.ts'
import { DEFAULT_USERS } from '../../crds/users.ts'
import type { ServerUsers, UserCredentials, UserSecret } from './router-config.ts'

export function usersOf(
  { spec }: McpServer,
  secrets: readonly UserSecret[] = [],
  problems: ServerUsers['problems'],
): ServerUsers {
  const { max, idleAfter } = spec.users ?? DEFAULT_USERS
  const credentials = userCredentials(spec, secrets)
  return {
    max,
    idleAfterMs: parseDuration(idleAfter),
    ...(credentials && { credentials }),
    ...(spec.discovery.perUser && { ownLists: true as const }),
    ...(problems && { problems }),
  }
}

function userCredentials(
  { auth }: McpServer['spec'],
  secrets: readonly UserSecret[],
): UserCredentials | undefined {
  const selector = auth?.perUser?.secrets?.selector
  if (selector) return { kind: 'secrets', selector, secrets: [...secrets] }
  return auth?.perUser?.tokenExchange && { kind: 'tokenExchange' }
}
