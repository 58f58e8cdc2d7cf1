/** The pods of a gateway's routers. Pure. */

import type { V1Container, V1EnvVar, V1PodTemplateSpec } from '@kubernetes/client-node'
import { ANY_ADDRESS } from '../../core/addresses.ts'
import { scriptMemoryBytes } from '../../core/catalog/script-memory.ts'
import type { JsonOf } from '../../core/kube/object.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import { parseBytes } from '../../crds/quantity.ts'
import {
  ADMIN_PORT,
  ANNOTATION,
  gatewayObjectName,
  HTTP_PORT,
  keysName,
  LOGIN_KEY,
  peersServiceName,
  SESSION_KEY,
} from './names.ts'
import { routerProbes } from './probes.ts'
import { commonPodFields, containerSecurity, podSecurity, preStop } from './security.ts'
import type { OperatorSettings, Resources } from './settings.ts'
import type { Shutdown } from './shutdown.ts'
import { podTemplate, spread } from './template.ts'

const CONTAINER = 'router'
const KEYS_FOLDER = '/var/run/portolan/keys'
const READABLE_BY_GROUP = 0o440
const MI = 1024 * 1024

/** The pod template of a gateway's routers. `account`: the uid of their ServiceAccount. `shutdown`: allows for the call timeouts of their servers. */
export function routerTemplate(
  gateway: McpGateway,
  settings: OperatorSettings,
  { account, shutdown }: { account: string; shutdown: Shutdown },
): JsonOf<V1PodTemplateSpec> {
  const { name } = gateway.metadata
  const keys = { secretName: keysName(name), defaultMode: READABLE_BY_GROUP }
  const spec = {
    ...commonPodFields(shutdown),
    serviceAccountName: gatewayObjectName(name),
    automountServiceAccountToken: true,
    securityContext: podSecurity(settings),
    ...(settings.imagePullSecrets.length > 0 && {
      imagePullSecrets: settings.imagePullSecrets.map(name => ({ name })),
    }),
    containers: [container(gateway, settings, shutdown)],
    ...spread('router', name),
    volumes: [
      { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
      { name: 'keys', secret: { ...keys, items: [SESSION_KEY, LOGIN_KEY].map(key => ({ key, path: key })) } },
    ],
  }
  return podTemplate(
    { component: 'router', instance: name, annotations: { [ANNOTATION.serviceAccount]: account }, spec },
    CONTAINER,
    gateway.spec.router.pod,
  )
}

function container(
  gateway: McpGateway,
  settings: OperatorSettings,
  { drain }: Shutdown,
): JsonOf<V1Container> {
  const { code, router } = gateway.spec
  const resources = router.resources ?? withMemory(settings.resources.router, scriptMemoryBytes(code))
  return {
    name: CONTAINER,
    image: settings.image,
    imagePullPolicy: settings.imagePullPolicy,
    args: ['router'],
    env: [
      ...environment(gateway, settings),
      { name: 'PORTOLAN_DRAIN', value: drain },
      ...tracing(gateway, settings),
    ],
    ports: [
      { name: 'http', containerPort: HTTP_PORT, protocol: 'TCP' },
      { name: 'admin', containerPort: ADMIN_PORT, protocol: 'TCP' },
    ],
    ...routerProbes(),
    lifecycle: preStop(),
    resources,
    securityContext: containerSecurity(),
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [
      { name: 'tmp', mountPath: '/tmp' },
      { name: 'keys', mountPath: KEYS_FOLDER, readOnly: true },
    ],
  }
}

/** Adds memory to the requests and to the limits, where these name an amount of memory. */
function withMemory(resources: Resources, bytes: number): Resources {
  if (bytes === 0) return resources
  const entries = Object.entries(resources).map(([name, amounts]) => {
    const givenBytes = parseBytes(String(amounts?.memory))
    if (Number.isNaN(givenBytes)) return [name, amounts] as const
    return [name, { ...amounts, memory: `${Math.ceil((givenBytes + bytes) / MI)}Mi` }] as const
  })
  return Object.fromEntries(entries)
}

function environment({ metadata, spec }: McpGateway, settings: OperatorSettings): JsonOf<V1EnvVar>[] {
  const trusted = settings.trustedCertificates
  const field = (fieldPath: string) => ({ valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } })
  return [
    { name: 'PORTOLAN_GATEWAY', value: metadata.name },
    { name: 'PORTOLAN_NAMESPACE', ...field('metadata.namespace') },
    { name: 'PORTOLAN_POD', ...field('metadata.name') },
    { name: 'PORTOLAN_POD_IP', ...field('status.podIP') },
    { name: 'PORTOLAN_HOST', value: ANY_ADDRESS },
    { name: 'PORTOLAN_PORT', value: String(HTTP_PORT) },
    { name: 'PORTOLAN_ADMIN_PORT', value: String(ADMIN_PORT) },
    { name: 'PORTOLAN_PEERS', value: peersServiceName(metadata.name) },
    ...(trusted === undefined ? [] : [{ name: 'PORTOLAN_TRUSTED_CERTIFICATES', value: trusted }]),
    { name: 'PORTOLAN_SESSION_KEY_FILE', value: `${KEYS_FOLDER}/${SESSION_KEY}` },
    { name: 'PORTOLAN_LOGIN_KEY_FILE', value: `${KEYS_FOLDER}/${LOGIN_KEY}` },
    ...remotes(settings),
    ...(settings.consoleAccount === undefined
      ? []
      : [
          {
            name: 'PORTOLAN_CONSOLE_ACCOUNT',
            value: `${settings.namespace}/${settings.consoleAccount}`,
          },
        ]),
    ...proxies(settings),
    ...(spec.router.debug ? [{ name: 'PORTOLAN_DEBUG', value: 'true' }] : []),
  ]
}

/** Which remote hosts and addresses the routers may reach. */
function remotes({ permitted }: OperatorSettings): JsonOf<V1EnvVar>[] {
  const lists = {
    PORTOLAN_REMOTE_HOSTS: permitted.remoteHosts,
    PORTOLAN_REFUSED_ADDRESSES: permitted.refusedAddresses,
  }
  return Object.entries(lists)
    .filter(([, values]) => values.length > 0)
    .map(([name, values]) => ({ name, value: values.join(',') }))
}

/** The variables of the proxies, and their credentials by reference to a Secret. */
function proxies({ proxy }: OperatorSettings): JsonOf<V1EnvVar>[] {
  const { variables = {}, secret } = proxy ?? {}
  const keys = { PORTOLAN_PROXY_USERNAME: 'username', PORTOLAN_PROXY_PASSWORD: 'password' }
  const credentials = secret === undefined ? [] : Object.entries(keys)
  return [
    ...Object.entries(variables).map(([name, value]) => ({ name, value })),
    ...credentials.map(([name, key]) => ({ name, valueFrom: { secretKeyRef: { name: secret, key } } })),
  ]
}

/** OpenTelemetry's variables; `spec.router.pod` may add to them or override them. */
function tracing({ metadata }: McpGateway, { routerTracing }: OperatorSettings): JsonOf<V1EnvVar>[] {
  const env = Object.entries(routerTracing).map(([name, value]) => ({ name, value }))
  if (env.length === 0) return []
  const attributes = [
    'k8s.namespace.name=$(PORTOLAN_NAMESPACE)',
    'k8s.pod.name=$(PORTOLAN_POD)',
    `portolan.gateway=${metadata.name}`,
  ]
  return [...env, { name: 'OTEL_RESOURCE_ATTRIBUTES', value: attributes.join(',') }]
}
