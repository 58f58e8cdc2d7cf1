/** The pods of a server: a stdio process behind the bridge, or an image that serves HTTP itself. Pure. */
import type { V1Container, V1PodTemplateSpec, V1Volume, V1VolumeMount } from '@kubernetes/client-node'
import { isBridged } from '../../core/catalog/endpoint.ts'
import { hasInstances } from '../../core/catalog/instances.ts'
import {
  BEARER_KEY,
  certificateName,
  instanceName,
  serverObjectName,
} from '../../core/catalog/object-names.ts'
import type { JsonOf } from '../../core/kube/object.ts'
import { parseDuration } from '../../crds/quantity.ts'
import type { McpServer } from '../../crds/server.ts'
import { delivery, RUNTIME } from './delivery.ts'
import { installation, packageOf, START_FILE } from './install-packages.ts'
import { ANNOTATION, HTTP_PORT, METRICS_PORT } from './names.ts'
import { bridgeProbes, imageProbes } from './probes.ts'
import { commonPodFields, containerSecurity, podSecurity, preStop } from './security.ts'
import type { OperatorSettings } from './settings.ts'
import { shutdownOf } from './shutdown.ts'
import { onOneNode, podTemplate, spread } from './template.ts'

const CONTAINER = 'server'
const HOME = '/home/mcp'
const BEARER_FOLDER = '/var/run/portolan/bearer'
const TLS_FOLDER = '/var/run/portolan/tls'
const FILES = 'files'
const READABLE_BY_GROUP = 0o440
const WRITABLE = [
  { name: 'tmp', mountPath: '/tmp', sizeLimit: '1Gi' },
  { name: 'home', mountPath: HOME, sizeLimit: '1Gi' },
]

/** The user that a pod belongs to. The keys of `secret` become environment variables and replace others of the same name. */
export type PodUser = { id: string; revision: string; secret?: { name: string; keys: readonly string[] } }

/** The pod template of a server that is not remote. `inputs`: the digest of what its environment refers to. `user`: absent for pods that all callers share. */
export function serverTemplate(
  server: McpServer,
  settings: OperatorSettings,
  inputs: string,
  user?: PodUser,
): JsonOf<V1PodTemplateSpec> {
  const { name } = server.metadata
  const runtime = delivery(settings)
  const writable = WRITABLE.map(({ name, mountPath }) => ({ name, mountPath }))
  const environment = environmentOf(server)
  const wanted = packageOf(server, settings)
  const installed =
    wanted && installation(server, wanted, settings, environment, [runtime.mount, ...writable])
  const files = user && server.spec.users?.volume ? filesOf(name, user) : undefined
  // The installer gets another home folder, so that it writes nothing into the files of the user.
  const folders = files ? [...writable.filter(({ mountPath }) => mountPath !== HOME), files.mount] : writable
  const mounts = [runtime.mount, ...folders, ...(installed ? [installed.mount] : [])]
  const image = wanted?.image ?? server.spec.image?.name
  const container = {
    ...processOf(server, mounts, user),
    image,
    ...withSecretOf(user, environment),
    resources: settings.resources.server,
  }
  const initContainers = [...runtime.initContainers, ...(installed ? [installed.initContainer] : [])]
  const spec = {
    ...commonPodFields(shutdownOf([parseDuration(server.spec.limits.callTimeout)])),
    automountServiceAccountToken: false,
    // Processes that outlive the one that started them, such as a helper of an npm server, become children of PID 1. As PID 1 a bridge would keep
    // each as a zombie, since Node reaps only processes that it started itself; the pause container of a shared namespace reaps them.
    // Kubernetes refuses it together with hostPID, with which the node's PID 1 reaps them.
    ...(isBridged(server) && server.spec.pod?.hostPID !== true && { shareProcessNamespace: true }),
    securityContext: podSecurity(settings),
    ...(settings.imagePullSecrets.length > 0 && {
      imagePullSecrets: settings.imagePullSecrets.map(name => ({ name })),
    }),
    ...(initContainers.length > 0 && { initContainers }),
    containers: [container],
    ...(server.spec.scaling.max > 1 && spread('server', name)),
    ...(server.spec.storage?.accessMode === 'ReadWriteOnce' && onOneNode('server', name)),
    volumes: [
      runtime.volume,
      ...writableVolumes(),
      ...(installed?.volumes ?? []),
      ...bridgeVolumes(server, user),
      ...(files ? [files.volume] : []),
    ],
  }
  const annotations = { [ANNOTATION.inputs]: inputs }
  const owner = user ? { component: 'user' as const, user: user.id } : { component: 'server' as const }
  const keepsFiles = user !== undefined || (server.spec.sessions !== 'shared' && !hasInstances(server))
  return podTemplate({ ...owner, instance: name, annotations, keepsFiles, spec }, CONTAINER, server.spec.pod)
}

/** The port that the server's container listens on. */
export function containerPort({ spec }: McpServer): number {
  return spec.image?.transport === 'http' ? (spec.image.port ?? HTTP_PORT) : HTTP_PORT
}

function processOf(
  server: McpServer,
  mounts: JsonOf<V1VolumeMount>[],
  user: PodUser | undefined,
): JsonOf<V1Container> {
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
  const serverArgs = npm?.args ?? pypi?.args ?? [...(image?.command ?? []), ...(image?.args ?? [])]
  return {
    ...rest,
    command: [...RUNTIME],
    args: [...bridgeOptions(server), ...(user ? ['--instance', user.revision] : []), '--', ...serverArgs],
    ports: [...rest.ports, { name: 'metrics', containerPort: METRICS_PORT, protocol: 'TCP' }],
    ...(image ? {} : { workingDir: HOME }),
    ...bridgeProbes(server),
    volumeMounts: [
      ...mounts,
      { name: 'bearer', mountPath: BEARER_FOLDER, readOnly: true },
      ...(server.spec.tls ? [{ name: 'tls', mountPath: TLS_FOLDER, readOnly: true }] : []),
    ],
  }
}

function bridgeOptions(server: McpServer): string[] {
  const { metadata, spec } = server
  return [
    ...['--name', metadata.name],
    ...['--port', String(HTTP_PORT)],
    ...['--metrics-port', String(METRICS_PORT)],
    ...['--bearer-file', `${BEARER_FOLDER}/${BEARER_KEY}`],
    ...(spec.tls ? ['--tls-folder', TLS_FOLDER] : []),
    ...['--start-timeout', spec.limits.startTimeout],
    ...['--drain', shutdownOf([parseDuration(server.spec.limits.callTimeout)]).drain],
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

/** Adds the user's Secret to the environment of the process, but not of the installer. Removes variables from `env` that would override it. */
function withSecretOf(user: PodUser | undefined, environment: ReturnType<typeof environmentOf>) {
  if (!user?.secret) return environment
  const { name, keys } = user.secret
  const replaced = new Set(keys)
  return {
    env: environment.env.filter(({ name }) => !replaced.has(name)),
    envFrom: [...(environment.envFrom ?? []), { secretRef: { name } }],
  }
}

/** The volume with the files of a user, which is their home folder. */
function filesOf(server: string, { id }: PodUser) {
  const claimName = instanceName(server, id)
  return {
    mount: { name: FILES, mountPath: HOME },
    volume: { name: FILES, persistentVolumeClaim: { claimName } },
  }
}

function writableVolumes(): JsonOf<V1Volume>[] {
  return WRITABLE.map(({ name, sizeLimit }) => ({ name, emptyDir: { sizeLimit } }))
}

function bridgeVolumes(
  { metadata: { name }, spec }: McpServer,
  user: PodUser | undefined,
): JsonOf<V1Volume>[] {
  if (!isBridged({ spec })) return []
  return [
    secretVolume('bearer', user ? instanceName(name, user.id) : serverObjectName(name), [BEARER_KEY]),
    ...(spec.tls ? [secretVolume('tls', certificateName(name), ['tls.crt', 'tls.key'])] : []),
  ]
}

function secretVolume(name: string, secretName: string, keys: readonly string[]): JsonOf<V1Volume> {
  const items = keys.map(key => ({ key, path: key }))
  return { name, secret: { secretName, defaultMode: READABLE_BY_GROUP, items } }
}
