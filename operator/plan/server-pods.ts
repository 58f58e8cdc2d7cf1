/** The pods of a server: a stdio process behind the bridge, or an image that serves HTTP itself. Pure. */
import type { V1Container, V1PodTemplateSpec, V1Volume, V1VolumeMount } from '@kubernetes/client-node'
import { isBridged } from '../../core/catalog/endpoint.ts'
import { BEARER_KEY, serverObjectName } from '../../core/catalog/object-names.ts'
import type { JsonOf } from '../../core/kube/object.ts'
import type { McpServer } from '../../crds/server.ts'
import { delivery, RUNTIME } from './delivery.ts'
import { installation, packageOf, START_FILE } from './install-packages.ts'
import { ANNOTATION, HTTP_PORT } from './names.ts'
import { bridgeProbes, imageProbes } from './probes.ts'
import { containerSecurity, podManners, podSecurity, preStop } from './security.ts'
import type { OperatorSettings } from './settings.ts'
import { podTemplate, spread } from './template.ts'

const CONTAINER = 'server'
const HOME = '/home/mcp'
const BEARER_FOLDER = '/var/run/portolan/bearer'
const READABLE_BY_GROUP = 0o440
const WRITABLE = [
  { name: 'tmp', mountPath: '/tmp', sizeLimit: '1Gi' },
  { name: 'home', mountPath: HOME, sizeLimit: '1Gi' },
]

/** `inputs` is the digest of what the environment refers to. Not for remote servers, which have no pods. */
export function serverTemplate(
  server: McpServer,
  settings: OperatorSettings,
  inputs: string,
): JsonOf<V1PodTemplateSpec> {
  const { name } = server.metadata
  const runtime = delivery(settings)
  const writable = WRITABLE.map(({ name, mountPath }) => ({ name, mountPath }))
  const environment = environmentOf(server)
  const wanted = packageOf(server, settings)
  const installed = wanted && installation(wanted, settings, environment, [runtime.mount, ...writable])
  const mounts = [runtime.mount, ...writable, ...(installed ? [installed.mount] : [])]
  const image = wanted?.image ?? server.spec.image?.name
  const container = {
    ...processOf(server, mounts),
    image,
    ...environment,
    resources: settings.resources.server,
  }
  const initContainers = [...runtime.initContainers, ...(installed ? [installed.initContainer] : [])]
  const spec = {
    ...podManners(),
    automountServiceAccountToken: false,
    securityContext: podSecurity(),
    ...(settings.imagePullSecrets.length > 0 && {
      imagePullSecrets: settings.imagePullSecrets.map(name => ({ name })),
    }),
    ...(initContainers.length > 0 && { initContainers }),
    containers: [container],
    ...(server.spec.scaling.max > 1 && spread('server', name)),
    volumes: [
      runtime.volume,
      ...writableVolumes(),
      ...(installed ? [installed.volume] : []),
      ...bearerVolume(server),
    ],
  }
  const annotations = { [ANNOTATION.inputs]: inputs }
  return podTemplate({ component: 'server', instance: name, annotations, spec }, CONTAINER, server.spec.pod)
}

/** The port that the server's container listens on. */
export function containerPort({ spec }: McpServer): number {
  return spec.image?.transport === 'http' ? (spec.image.port ?? HTTP_PORT) : HTTP_PORT
}

function processOf(server: McpServer, mounts: JsonOf<V1VolumeMount>[]): JsonOf<V1Container> {
  const { npm, pypi, image } = server.spec
  const rest = {
    name: CONTAINER,
    ports: [{ name: 'http', containerPort: containerPort(server), protocol: 'TCP' }],
    lifecycle: preStop(),
    securityContext: containerSecurity(),
    terminationMessagePolicy: 'FallbackToLogsOnError',
  }
  if (image?.transport === 'http') {
    const { command, args } = image
    return {
      ...rest,
      ...(command.length > 0 && { command }),
      ...(args.length > 0 && { args }),
      ...imageProbes(server, containerPort(server), image.path),
      volumeMounts: mounts,
    }
  }
  const own = npm?.args ?? pypi?.args ?? [...(image?.command ?? []), ...(image?.args ?? [])]
  return {
    ...rest,
    command: [...RUNTIME],
    args: [...bridgeOptions(server), '--', ...own],
    ...(image ? {} : { workingDir: HOME }),
    ...bridgeProbes(),
    volumeMounts: [...mounts, { name: 'bearer', mountPath: BEARER_FOLDER, readOnly: true }],
  }
}

function bridgeOptions({ metadata, spec }: McpServer): string[] {
  return [
    ...['--name', metadata.name],
    ...['--port', String(HTTP_PORT)],
    ...['--bearer-file', `${BEARER_FOLDER}/${BEARER_KEY}`],
    ...['--start-timeout', spec.limits.startTimeout],
    ...(spec.sessions === 'perClient'
      ? ['--sessions', 'perClient', '--idle-after', spec.scaling.idleAfter]
      : []),
    ...(spec.image ? [] : ['--start-file', START_FILE]),
  ]
}

function environmentOf({ spec }: McpServer) {
  const home = spec.env.some(({ name }) => name === 'HOME') ? [] : [{ name: 'HOME', value: HOME }]
  return { env: [...home, ...spec.env], ...(spec.envFrom.length > 0 && { envFrom: spec.envFrom }) }
}

function writableVolumes(): JsonOf<V1Volume>[] {
  return WRITABLE.map(({ name, sizeLimit }) => ({ name, emptyDir: { sizeLimit } }))
}

function bearerVolume(server: McpServer): JsonOf<V1Volume>[] {
  if (!isBridged(server)) return []
  const items = [{ key: BEARER_KEY, path: BEARER_KEY }]
  const secretName = serverObjectName(server.metadata.name)
  return [{ name: 'bearer', secret: { secretName, defaultMode: READABLE_BY_GROUP, items } }]
}
