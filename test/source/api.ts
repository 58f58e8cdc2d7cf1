/** A real API server for tests of sources: writes feeds and slices as the operator does, and grants clients minimal permissions. */
import type { V1ConfigMap, V1Secret } from '@kubernetes/client-node'
import type { RouterFeed } from '../../core/catalog/feed.ts'
import { encodeFeed, FEED_FORMAT } from '../../core/catalog/feed-text.ts'
import { feedName, sliceName } from '../../core/catalog/object-names.ts'
import { encodeSlices, type Slice } from '../../core/catalog/slices.ts'
import { catalogVersion } from '../../core/catalog/version.ts'
import type { Access } from '../../core/kube/access.ts'
import type { KubeClient } from '../../core/kube/client.ts'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import type { Snapshot } from '../../router/source/source.ts'
import { type ApiServer, startApiServer } from '../support/api-server.ts'

const manager = { fieldManager: 'test', force: true }

export type Api = {
  server: ApiServer
  /** A client with all permissions. */
  client: KubeClient
  /** Writes slices and feed as the operator does; resolves with the generation. */
  publish(gateway: string, snapshot: Snapshot, secrets?: Record<string, string>): Promise<number>
  /** Writes only the feed; resolves with the generation. */
  feed(gateway: string, feed: RouterFeed): Promise<number>
  slice(server: string, slice: Slice, namespace?: string): Promise<void>
  secret(name: string, values: Record<string, string>): Promise<string>
  /** Writes the Role of a router, which may read its feed, and these slices and Secrets. */
  role(gateway: string, slices: string[], secrets?: string[]): Promise<void>
  bind(gateway: string, serviceAccount: string): Promise<void>
  serviceAccount(name: string, namespace?: string): Promise<void>
  token(serviceAccount: string, audience?: string, namespace?: string): Promise<string>
  /** Access with this token. */
  accessOf(token: string): Promise<Access>
  close(): Promise<void>
}

export async function startApi(): Promise<Api> {
  const server = await startApiServer({ crds: false })
  const { access, client } = server
  let feeds = 0
  const apply = <T extends KubeObject>(object: T) => client.apply<T>(object, manager)
  const api: Api = {
    server,
    client,
    async publish(gateway, { config, catalogs }, secrets = {}) {
      const slices: RouterFeed['slices'] = {}
      for (const [server, catalog] of catalogs) {
        const parts = encodeSlices(catalog)
        for (const part of parts) await api.slice(server, part)
        slices[server] = { digest: catalogVersion(catalog), parts: parts.length }
      }
      return api.feed(gateway, { config, slices, secrets })
    },
    async feed(gateway, feed) {
      const written = await apply<Kube<V1ConfigMap>>({
        ...named('ConfigMap', feedName(gateway)),
        // The number makes an unchanged feed a new generation, too.
        data: { format: FEED_FORMAT, number: String(++feeds) },
        binaryData: { feed: encodeFeed(feed).toString('base64') },
      })
      return Number(written.metadata.resourceVersion)
    },
    async slice(server, { header, payload }, namespace = 'default') {
      await apply<Kube<V1ConfigMap>>({
        ...named('ConfigMap', sliceName(server, header.part), namespace),
        data: { header: JSON.stringify(header) },
        binaryData: { catalog: payload.toString('base64') },
      })
    },
    async secret(name, stringData) {
      const written = await apply<Kube<V1Secret>>({ ...named('Secret', name), stringData })
      return written.metadata.resourceVersion ?? ''
    },
    role: (gateway, slices, secrets = []) => role(apply, gateway, slices, secrets),
    async bind(gateway, serviceAccount) {
      const object = named('RoleBinding', `${gateway}-gateway`, 'default', RBAC)
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: `${gateway}-gateway` }
      const subjects = [{ kind: 'ServiceAccount', name: serviceAccount, namespace: 'default' }]
      await apply({ ...object, roleRef, subjects } as KubeObject)
    },
    async serviceAccount(name, namespace = 'default') {
      await apply(named('ServiceAccount', name, namespace))
    },
    async token(name, audience, namespace = 'default') {
      const to = audience === undefined ? [] : ['--audience', audience]
      return (await server.kubectl(['create', 'token', name, '-n', namespace, ...to])).trim()
    },
    async accessOf(token) {
      const { ca } = (await access.credentials()).tls
      const credentials = async () => ({ headers: { authorization: `Bearer ${token}` }, tls: { ca } })
      return { server: access.server, namespace: 'default', credentials }
    },
    close: () => server.stop(),
  }
  return api
}

const RBAC = 'rbac.authorization.k8s.io/v1'

async function role(
  apply: (object: KubeObject) => Promise<unknown>,
  gateway: string,
  slices: string[],
  secrets: string[],
): Promise<void> {
  const rules = [
    {
      apiGroups: [''],
      resources: ['configmaps'],
      verbs: ['get', 'list', 'watch'],
      resourceNames: [feedName(gateway)],
    },
    ...(slices.length > 0
      ? [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'], resourceNames: slices }]
      : []),
    ...(secrets.length > 0
      ? [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'], resourceNames: secrets }]
      : []),
  ]
  await apply({ ...named('Role', `${gateway}-gateway`, 'default', RBAC), rules } as KubeObject)
}

function named(kind: string, name: string, namespace = 'default', apiVersion = 'v1'): KubeObject {
  return { apiVersion, kind, metadata: { name, namespace } }
}
