/** Refuses what the chart's values do not permit: the operator's own namespace, powerful pod fields, other registries and other hosts. Pure. */
import type { Problem } from '../../core/errors.ts'
import type { JsonValue } from '../../core/json.ts'
import { REASON } from '../../crds/conditions.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import type { McpServer } from '../../crds/server.ts'
import { imagesOf, powerfulFields } from './pod-fields.ts'
import type { OperatorSettings } from './settings.ts'

type Settings = Pick<OperatorSettings, 'namespace' | 'permitted'>

/** Docker Hub, which image names without a registry mean. */
const DEFAULT_REGISTRY = 'docker.io'

/** What a server's manifest contains although it is not permitted. */
export function serverPermission(server: McpServer, settings: Settings): Problem[] {
  const { image, remote, auth, pod = {} } = server.spec
  const images = image ? [{ path: 'spec.image.name', image: image.name }] : []
  return [
    ...ownNamespace(server, settings),
    ...podProblems(pod as JsonValue, 'spec.pod', settings),
    ...registryProblems([...images, ...imagesOf(pod as JsonValue, 'spec.pod')], settings),
    ...hostProblems(
      [
        { path: 'spec.remote.url', url: remote?.url },
        { path: 'spec.auth.oauth.tokenUrl', url: auth?.oauth?.tokenUrl },
        { path: 'spec.auth.perUser.tokenExchange.tokenUrl', url: auth?.perUser?.tokenExchange?.tokenUrl },
      ],
      settings,
    ),
  ]
}

/** What a gateway's manifest contains although it is not permitted. `servers`: those that it serves. */
export function gatewayPermission(
  gateway: McpGateway,
  servers: readonly McpServer[],
  settings: Settings,
): Problem[] {
  const { search, auth, router } = gateway.spec
  const hasLogins = servers.some(({ spec }) => spec.auth?.perUser?.oauth)
  const pod = (router.pod ?? {}) as JsonValue
  return [
    ...ownNamespace(gateway, settings),
    ...podProblems(pod, 'spec.router.pod', settings),
    ...registryProblems(imagesOf(pod, 'spec.router.pod'), settings),
    ...hostProblems(
      [
        { path: 'spec.search.embeddings.url', url: search.embeddings?.url },
        ...(auth?.jwt ?? []).flatMap(({ issuer, keys, login }, at) => {
          const path = `spec.auth.jwt[${at}]`
          // Its keys may be elsewhere, but users log in at the issuer itself.
          const isCalled = !(keys?.uri || keys?.configMapKeyRef) || login !== undefined || hasLogins
          return [
            { path: `${path}.keys.uri`, url: keys?.uri },
            { path: `${path}.issuer`, url: isCalled ? issuer : undefined },
          ]
        }),
      ],
      settings,
    ),
  ]
}

/** Refuses the operator's own namespace: a pod there could act as the operator's ServiceAccount. */
function ownNamespace(
  { metadata }: { metadata: { namespace?: string } },
  { namespace }: Settings,
): Problem[] {
  if (metadata.namespace !== namespace) return []
  const message = `the namespace "${namespace}" is the operator's own, where a pod could use the operator's rights: create it in another namespace, and delete it here`
  return [{ reason: REASON.operatorNamespace, path: 'metadata.namespace', message }]
}

function podProblems(pod: JsonValue, path: string, { permitted }: Settings): Problem[] {
  return powerfulFields(pod, path)
    .filter(({ name }) => !permitted.podFields.includes(name))
    .map(({ path, name }) => ({
      reason: REASON.notPermitted,
      path,
      message: `gives the pod power over its node: remove it, or have "${name}" added to the chart's value policy.podFields`,
    }))
}

function registryProblems(
  images: { path: string; image: string }[],
  { permitted: { registries } }: Settings,
): Problem[] {
  if (registries.length === 0) return []
  return images
    .filter(({ image }) => !registries.some(registry => fullName(image).startsWith(`${registry}/`)))
    .map(({ path, image }) => ({
      reason: REASON.notPermitted,
      path,
      message: `the image "${image}" is from a registry that is not allowed: take it from one of ${registries.join(', ')}, or have its registry added to the chart's value policy.registries`,
    }))
}

/** Refuses URLs of other hosts. The addresses that hosts resolve to are checked when a connection is made. */
function hostProblems(
  urls: { path: string; url: string | undefined }[],
  { permitted: { remoteHosts } }: Settings,
): Problem[] {
  if (remoteHosts.length === 0) return []
  return urls.flatMap(({ path, url }) => {
    const host = url === undefined ? undefined : URL.parse(url)?.hostname
    if (host === undefined || remoteHosts.some(pattern => matches(pattern, host))) return []
    const message = `the host ${host} is not allowed: use one of ${remoteHosts.join(', ')}, or have it added to the chart's value policy.remoteHosts`
    return [{ reason: REASON.notPermitted, path, message }]
  })
}

/** `pattern`: a host, `*.` and a domain for all hosts below it, or `*`. */
function matches(pattern: string, host: string): boolean {
  if (pattern === '*') return true
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern
}

/** The image's name with its registry, completed as container runtimes do. */
function fullName(image: string): string {
  const [first = '', ...rest] = image.split('/')
  if (rest.length === 0) return `${DEFAULT_REGISTRY}/library/${image}`
  const isRegistry = /[.:]/.test(first) || first === 'localhost'
  return isRegistry ? image : `${DEFAULT_REGISTRY}/${image}`
}
