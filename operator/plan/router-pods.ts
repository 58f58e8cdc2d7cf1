/** The pods of a gateway's routers. Pure. */
import type { V1Container, V1EnvVar, V1PodTemplateSpec } from '@kubernetes/client-node'
import type { JsonOf } from '../../core/kube/object.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import { ADMIN_PORT, gatewayObjectName, HTTP_PORT, keysName, SESSION_KEY } from './names.ts'
import { routerProbes } from './probes.ts'
import { containerSecurity, podManners, podSecurity, preStop } from './security.ts'
import type { OperatorSettings } from './settings.ts'
import { podTemplate, spread } from './template.ts'

const CONTAINER = 'router'
const KEYS_FOLDER = '/var/run/portolan/keys'
const READABLE_BY_GROUP = 0o440
/** Default maxReplicas of the autoscaler. */
const MAX_REPLICAS = 5

/** `replicas` is absent if an autoscaler decides, between `min` and `max`. */
export type RouterScale = { replicas?: number; min: number; max: number }

/** An empty `autoscaling` means no autoscaler. */
export function routerScale({ spec }: McpGateway): RouterScale {
  const { replicas, autoscaling = {} } = spec.router
  if (Object.keys(autoscaling).length === 0) return { replicas, min: replicas, max: replicas }
  const given = (field: string, standard: number) => {
    const value = autoscaling[field]
    return typeof value === 'number' ? value : standard
  }
  const min = given('minReplicas', Math.max(1, replicas))
  return { min, max: given('maxReplicas', Math.max(MAX_REPLICAS, min)) }
}

export function routerTemplate(gateway: McpGateway, settings: OperatorSettings): JsonOf<V1PodTemplateSpec> {
  const { name } = gateway.metadata
  const keys = { secretName: keysName(name), defaultMode: READABLE_BY_GROUP }
  const spec = {
    ...podManners(),
    serviceAccountName: gatewayObjectName(name),
    automountServiceAccountToken: true,
    securityContext: podSecurity(),
    ...(settings.imagePullSecrets.length > 0 && {
      imagePullSecrets: settings.imagePullSecrets.map(name => ({ name })),
    }),
    containers: [container(gateway, settings)],
    ...spread('router', name),
    volumes: [
      { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
      { name: 'keys', secret: { ...keys, items: [{ key: SESSION_KEY, path: SESSION_KEY }] } },
    ],
  }
  return podTemplate(
    { component: 'router', instance: name, annotations: {}, spec },
    CONTAINER,
    gateway.spec.router.pod,
  )
}

function container(gateway: McpGateway, settings: OperatorSettings): JsonOf<V1Container> {
  const { resources = settings.resources.router } = gateway.spec.router
  return {
    name: CONTAINER,
    image: settings.image,
    imagePullPolicy: settings.imagePullPolicy,
    args: ['router'],
    env: [...environment(gateway), ...tracing(gateway, settings)],
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

function environment({ metadata, spec }: McpGateway): JsonOf<V1EnvVar>[] {
  const field = (fieldPath: string) => ({ valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } })
  return [
    { name: 'PORTOLAN_GATEWAY', value: metadata.name },
    { name: 'PORTOLAN_NAMESPACE', ...field('metadata.namespace') },
    { name: 'PORTOLAN_POD', ...field('metadata.name') },
    { name: 'PORTOLAN_POD_IP', ...field('status.podIP') },
    { name: 'PORTOLAN_HOST', value: '0.0.0.0' },
    { name: 'PORTOLAN_PORT', value: String(HTTP_PORT) },
    { name: 'PORTOLAN_ADMIN_PORT', value: String(ADMIN_PORT) },
    { name: 'PORTOLAN_SESSION_KEY_FILE', value: `${KEYS_FOLDER}/${SESSION_KEY}` },
    ...(spec.router.debug ? [{ name: 'PORTOLAN_DEBUG', value: 'true' }] : []),
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
