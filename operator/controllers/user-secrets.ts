/** The Secrets of users, found by the metadata of all Secrets: which ones a server uses, and which servers use a changed one. */
import { selects } from '../../core/catalog/select.ts'
import { selectUserSecrets } from '../../core/catalog/user-secrets.ts'
import { SUBJECT_ANNOTATION } from '../../crds/annotations.ts'
import type { McpServer } from '../../crds/server.ts'
import type { UserSecretName } from '../plan/plan.ts'
import type { Caches, Manifest } from '../runtime/caches.ts'
import type { Manifests } from './parsed-manifests.ts'

/** How many Secrets of users one server can have: the first ones by name. */
export const MAX_USER_SECRETS = 1_000

/** The Secrets of users for each of `servers` that uses such Secrets, by the server's name. All `servers` must be of this namespace. */
export function userSecretsIn(
  { secrets }: Pick<Caches, 'secrets'>,
  namespace: string,
  servers: readonly McpServer[],
): Map<string, UserSecretName[]> {
  const found = new Map<string, UserSecretName[]>()
  const withSecrets = servers.filter(({ spec }) => spec.auth?.perUser?.secrets)
  if (withSecrets.length === 0) return found
  const inNamespace = [...secrets.objects.values()].filter(
    ({ metadata }) => metadata.namespace === namespace && metadata.annotations?.[SUBJECT_ANNOTATION],
  )
  for (const server of withSecrets) {
    const own = selectUserSecrets(server, inNamespace).slice(0, MAX_USER_SECRETS)
    const names = own.map(({ user: { subject }, secret }) => ({ subject, name: secret.metadata.name }))
    found.set(server.metadata.name, names)
  }
  return found
}

/** Calls `queue` with each server whose selector matches, or matched, a changed Secret of a user. */
export function onUserSecret(
  caches: Pick<Caches, 'secrets' | 'servers'>,
  manifests: Manifests,
  queue: (server: Manifest) => void,
): void {
  caches.secrets.onChange((before, now) => {
    const states = [before, now].filter(secret => secret?.metadata.annotations?.[SUBJECT_ANNOTATION])
    if (states.length === 0) return
    const namespace = (now ?? before)?.metadata.namespace
    for (const object of caches.servers.objects.values()) {
      if (object.metadata.namespace !== namespace) continue
      const selector = manifests.server(object).manifest?.spec.auth?.perUser?.secrets?.selector
      if (selector && states.some(secret => selects(selector, secret?.metadata.labels))) queue(object)
    }
  })
}
