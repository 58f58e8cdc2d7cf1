/** The logins of users at servers: stores those that routers report in Secrets, and finds these Secrets. */
import { allLoginsNames, type LoginRecord, loginsName, newerLogin } from '../../core/catalog/login-records.ts'
import { messageOf } from '../../core/errors.ts'
import type { KubeObject } from '../../core/kube/object.ts'
import { LABEL, selectorOf } from '../plan/names.ts'
import type { Caches, Manifest } from '../runtime/caches.ts'
import { createLoginKeeper, type LoginKeeperOptions } from '../runtime/keep-logins.ts'
import type { Manifests } from './parsed-manifests.ts'

/** The label of Secrets with logins. */
const COMPONENT = selectorOf('logins', '')[LABEL.component]

export type KeptLogins = {
  /** Ignores servers without `auth.perUser.oauth`. A failure is only logged, since routers report the login again. */
  write(namespace: string, records: readonly LoginRecord[], signal: AbortSignal): Promise<void>
}

export type KeptLoginsOptions = LoginKeeperOptions & {
  caches: Pick<Caches, 'servers'>
  manifests: Manifests
}

export function createKeptLogins(options: KeptLoginsOptions): KeptLogins {
  const { caches, manifests, log } = options
  const keeper = createLoginKeeper(options)
  return {
    async write(namespace, records, signal) {
      for (const [name, each] of Map.groupBy(records, ({ server, id }) => loginsName(server, id))) {
        const object: Manifest | undefined = caches.servers.get(`${namespace}/${each[0]?.server}`)
        const isGone = !object || object.metadata.deletionTimestamp
        const server = isGone ? undefined : manifests.server(object).manifest
        if (object && server?.spec.auth?.perUser?.oauth)
          await keeper(object, name, newestOf(each), signal).catch(error => {
            if (signal.aborted) throw error
            log.warn({ namespace, secret: name, error: messageOf(error) }, 'logins could not be written')
          })
      }
    },
  }
}

/** Metadata of the Secrets with logins at a server, sorted. */
export function loginSecretsOf(
  { secrets }: Pick<Caches, 'secrets'>,
  { metadata: { namespace = '', name, uid } }: Pick<KubeObject, 'metadata'>,
): KubeObject[] {
  return allLoginsNames(name).flatMap(each => {
    const found = secrets.get(`${namespace}/${each}`)
    const isOurs = found?.metadata.labels?.[LABEL.component] === COMPONENT
    return found && isOurs && found.metadata.ownerReferences?.some(owner => owner.uid === uid) ? [found] : []
  })
}

/** Calls `queue` with each server, `namespace/name`, whose logins have changed. */
export function onLoginSecret({ secrets }: Pick<Caches, 'secrets'>, queue: (server: string) => void): void {
  secrets.onChange((before, now) => {
    const { namespace, labels = {} } = (now ?? before)?.metadata ?? {}
    if (labels[LABEL.component] === COMPONENT) queue(`${namespace}/${labels[LABEL.instance]}`)
  })
}

/** The newest value of each login, by its id. */
function newestOf(records: readonly LoginRecord[]): Map<string, string> {
  const newest = new Map<string, string>()
  for (const { id, value } of records) newest.set(id, newerLogin(newest.get(id), value) ?? value)
  return newest
}
