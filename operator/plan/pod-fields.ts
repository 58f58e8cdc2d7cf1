/** Finds fields of `spec.pod` that the chart may have to permit: those with power over the node, and images. Pure. */
import { isObject, type JsonValue } from '../../core/json.ts'

/** A field at any depth of a pod. `path`: where it is in its manifest, such as `spec.pod.hostNetwork`; `name`: its last step. */
export type PodField = { path: string; name: string; value: JsonValue }

/** Capabilities that Pod Security's level `baseline` lets containers add. */
const HARMLESS_CAPABILITIES = [
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]

const isTrue = (value: JsonValue) => value === true
const isGiven = () => true
const isUnconfined = (value: JsonValue) => isObject(value) && value.type === 'Unconfined'
const addsCapabilities = (value: JsonValue) =>
  isObject(value) &&
  Array.isArray(value.add) &&
  value.add.some(name => !HARMLESS_CAPABILITIES.includes(String(name)))

/** Which values are refused, by name of the field: those that Pod Security's level `baseline` refuses, and `nodeName`, which bypasses the scheduler. */
const POWERFUL: Readonly<Record<string, (value: JsonValue) => boolean>> = {
  appArmorProfile: isUnconfined,
  capabilities: addsCapabilities,
  // The host of a probe or a lifecycle hook, to which the kubelet sends requests.
  host: isGiven,
  hostIPC: isTrue,
  hostNetwork: isTrue,
  hostPID: isTrue,
  hostPath: isGiven,
  hostPort: value => value !== 0,
  hostProcess: isTrue,
  nodeName: isGiven,
  privileged: isTrue,
  procMount: value => value !== 'Default',
  seLinuxOptions: isGiven,
  seccompProfile: isUnconfined,
  sysctls: value => !Array.isArray(value) || value.length > 0,
}

/** Annotations that older Kubernetes versions read in place of a field: how they begin, and the name of the field. */
const PROFILE_ANNOTATIONS: readonly (readonly [prefix: string, field: string])[] = [
  ['container.apparmor.security.beta.kubernetes.io/', 'appArmorProfile'],
  ['container.seccomp.security.alpha.kubernetes.io/', 'seccompProfile'],
  ['seccomp.security.alpha.kubernetes.io/', 'seccompProfile'],
]

/** Names of fields that the chart's value `policy.podFields` can allow. */
export const POWERFUL_FIELDS: readonly string[] = Object.keys(POWERFUL)

/** Fields that are not searched: maps with arbitrary keys, and fields without power over the node. */
const SKIPPED = ['metadata', 'nodeSelector', 'affinity', 'tolerations', 'topologySpreadConstraints']

/** The fields of a pod with refused values, and annotations that mean the same; these have the name of the field. `path`: where the pod is in its manifest. */
export function powerfulFields(pod: JsonValue, path: string): PodField[] {
  const fields = fieldsOf(pod, path).filter(
    ({ name, value }) => Object.hasOwn(POWERFUL, name) && POWERFUL[name]?.(value),
  )
  return [...fields, ...unconfinedAnnotations(pod, path)]
}

function unconfinedAnnotations(pod: JsonValue, path: string): PodField[] {
  const metadata = isObject(pod) ? pod.metadata : undefined
  const annotations = isObject(metadata) ? metadata.annotations : undefined
  if (!isObject(annotations)) return []
  return Object.entries(annotations).flatMap(([annotation, value = null]) => {
    const [, name] = PROFILE_ANNOTATIONS.find(([prefix]) => annotation.startsWith(prefix)) ?? []
    if (name === undefined || value !== 'unconfined') return []
    return [{ path: `${path}.metadata.annotations[${annotation}]`, name, value }]
  })
}

/** Images of containers and of image volumes. */
export function imagesOf(pod: JsonValue, path: string): { path: string; image: string }[] {
  return fieldsOf(pod, path).flatMap(({ path, name, value }) =>
    (name === 'image' || name === 'reference') && typeof value === 'string' ? [{ path, image: value }] : [],
  )
}

/** Whether containers get values of a Secret, as variables or files. */
export function usesSecret(pod: JsonValue): boolean {
  return fieldsOf(pod, '').some(({ name }) => ['secretKeyRef', 'secretRef', 'secret'].includes(name))
}

/** All fields at any depth, except those in SKIPPED. */
function fieldsOf(value: JsonValue, path: string): PodField[] {
  if (Array.isArray(value)) return value.flatMap((entry, at) => fieldsOf(entry, `${path}[${at}]`))
  if (!isObject(value)) return []
  return Object.entries(value)
    .filter(([name]) => !SKIPPED.includes(name))
    .flatMap(([name, inner = null]) => {
      const field = { path: `${path}.${name}`, name, value: inner }
      return [field, ...fieldsOf(inner, field.path)]
    })
}
