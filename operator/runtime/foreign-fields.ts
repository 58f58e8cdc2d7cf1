/** Finds fields that others set in our objects, by the API server's record of who wrote which field (managedFields). Pure. */
import { isObject } from '../../core/json.ts'
import type { FieldSet, KubeObject, ManagedFields } from '../../core/kube/object.ts'

/** Kinds in which an added field changes what runs or who may connect to it. In other kinds, controllers of the cluster set fields too. */
const GUARDED: readonly string[] = ['Deployment', 'NetworkPolicy', 'Role', 'RoleBinding', 'Service']
/** The prefix of our field managers. */
const OURS = 'portolan'
/** Controllers of Kubernetes itself. */
const SYSTEM: readonly string[] = ['kube-controller-manager', 'cloud-controller-manager', 'kube-apiserver']
/** Fields that others may set: other controllers use them, and `kubectl rollout restart` sets an annotation of the template. */
const ALLOWED: readonly (readonly string[])[] = [
  ['f:metadata'],
  ['f:status'],
  ['f:spec', 'f:loadBalancerIP'],
  ['f:spec', 'f:template', 'f:metadata', 'f:annotations'],
]

export type Adopted = {
  managedFields: ManagedFields[]
  /** Who set the fields. */
  managers: string[]
  /** Their paths, such as `spec.template.spec.hostNetwork`. */
  fields: string[]
}

/** The managedFields of others that contain fields which they must not set; usually none. */
export function foreignEntries({ kind, metadata }: KubeObject): ManagedFields[] {
  if (!GUARDED.includes(kind)) return []
  return (metadata.managedFields ?? []).filter(isForeign)
}

/** Moves fields that others set to our manager, so that its next apply removes unwanted ones. Undefined if there are none, or our manager has none yet. */
export function adopt(object: KubeObject, fieldManager: string): Adopted | undefined {
  const foreign = foreignEntries(object)
  const all = object.metadata.managedFields ?? []
  const own = all.find(
    ({ manager, operation, subresource }) =>
      manager === fieldManager && operation === 'Apply' && !subresource,
  )
  if (foreign.length === 0 || !own?.fieldsV1) return undefined
  let fieldsV1 = own.fieldsV1
  for (const entry of foreign) fieldsV1 = union(fieldsV1, guarded(entry.fieldsV1 ?? {}))
  const others = all.filter(entry => entry !== own && !foreign.includes(entry))
  const rest = foreign.flatMap(entry => {
    const left = allowedOf(entry.fieldsV1 ?? {})
    return Object.keys(left).length > 0 ? [{ ...entry, fieldsV1: left }] : []
  })
  const fields = foreign.flatMap(entry => pathsOf(guarded(entry.fieldsV1 ?? {})))
  return {
    managedFields: [...others, ...rest, { ...own, fieldsV1 }],
    managers: [...new Set(foreign.map(({ manager = 'unknown' }) => manager))].sort(),
    fields: [...new Set(fields)].sort(),
  }
}

function isForeign({ manager = '', subresource, fieldsV1 = {} }: ManagedFields): boolean {
  if (subresource || manager.startsWith(OURS) || SYSTEM.includes(manager)) return false
  return pathsOf(guarded(fieldsV1)).length > 0
}

/** The fields that others must not set. */
function guarded(fields: FieldSet): FieldSet {
  return ALLOWED.reduce((left, path) => without(left, path), fields)
}

/** The fields that others may set. */
function allowedOf(fields: FieldSet): FieldSet {
  return ALLOWED.reduce<FieldSet>((found, path) => union(found, only(fields, path)), {})
}

/** The fields except those at and below a path. */
function without(fields: FieldSet, [step = '', ...deeper]: readonly string[]): FieldSet {
  const inner = fields[step]
  if (!isObject(inner)) return fields
  const { [step]: _, ...others } = fields
  const left = deeper.length === 0 ? {} : without(inner, deeper)
  return Object.keys(left).length === 0 ? others : { ...others, [step]: left }
}

/** Only the fields at and below a path. */
function only(fields: FieldSet, [step = '', ...deeper]: readonly string[]): FieldSet {
  const inner = fields[step]
  if (!isObject(inner)) return {}
  const kept = deeper.length === 0 ? inner : only(inner, deeper)
  return deeper.length > 0 && Object.keys(kept).length === 0 ? {} : { [step]: kept }
}

function union(a: FieldSet, b: FieldSet): FieldSet {
  const joined: FieldSet = { ...a }
  for (const [step, inner] of Object.entries(b)) joined[step] = union(joined[step] ?? {}, inner)
  return joined
}

/** The path of each field. In managedFields, `f:` is a field, `k:` an item of a list by its keys, `v:` one by its value, `.` the container itself. */
function pathsOf(fields: FieldSet, above = ''): string[] {
  return Object.entries(fields).flatMap(([step, inner]) => {
    if (step === '.') return []
    const name = step.slice(2)
    const path = step.startsWith('f:') ? (above === '' ? name : `${above}.${name}`) : `${above}[${name}]`
    const deeper = pathsOf(inner, path)
    return deeper.length > 0 ? deeper : Object.keys(inner).some(key => key !== '.') ? [] : [path]
  })
}
