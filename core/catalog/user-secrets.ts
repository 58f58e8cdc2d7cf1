/** Which Secret is that of which user, for `auth.perUser.secrets`: by labels and an annotation. Pure. */
import { SUBJECT_ANNOTATION } from '../../crds/annotations.ts'
import type { McpServer } from '../../crds/server.ts'
import { type User, userNamed } from '../mcp/user.ts'
import { selects } from './select.ts'

/**
 * The Secrets that the server's selector matches and that name a user. If several name the same user, the first by name counts. `secrets`: those
 * of the server's namespace.
 */
export function selectUserSecrets<Secret extends Labelled>(
  { spec }: McpServer,
  secrets: Iterable<Secret>,
): { user: User; secret: Secret }[] {
  const selector = spec.auth?.perUser?.secrets?.selector
  if (!selector) return []
  const found = new Map<string, { user: User; secret: Secret }>()
  const selected = [...secrets].filter(({ metadata }) => selects(selector, metadata.labels))
  for (const secret of selected.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))) {
    const user = userNamed(secret.metadata.annotations?.[SUBJECT_ANNOTATION] ?? '')
    if (user && !found.has(user.key)) found.set(user.key, { user, secret })
  }
  return [...found.values()]
}

type Labelled = {
  metadata: { name?: string; labels?: Record<string, string>; annotations?: Record<string, string> }
}

function nameOf({ metadata: { name = '' } }: Labelled): string {
  return name
}
