/** Owner references: those that we write, and those of existing objects. Pure. */
import { Fault } from '../../core/errors.ts'
import type { KubeObject, OwnerReference } from '../../core/kube/object.ts'

/** The owner reference of the controller of an object; undefined if it has none. */
export function controllerOf({ metadata }: KubeObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(reference => reference.controller)
}

/** The object in its owner's namespace and with its owner reference. Throws if the owner was not read from the API server. */
export function ownedBy<T extends KubeObject>(object: T, owner: KubeObject): T {
  const { apiVersion, kind, metadata } = owner
  const { name, namespace, uid } = metadata
  if (!uid) throw new Error(`${kind} ${name} has no uid: it was not read from the API server`)
  const reference = { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }
  return { ...object, metadata: { ...object.metadata, namespace, ownerReferences: [reference] } }
}

/**
 * Whether `owner` controls an existing object. Throws a retryable Fault `conflict` if a deleted owner of the same name controls it:
 * garbage collection is about to delete it.
 */
export function isOwnedBy(object: KubeObject, owner: KubeObject): boolean {
  const controller = controllerOf(object)
  if (!controller) return false
  if (controller.uid === owner.metadata.uid) return true
  if (controller.kind !== owner.kind || controller.name !== owner.metadata.name) return false
  const message = `${object.kind} ${object.metadata.name} of the deleted ${owner.kind} ${controller.name} still exists: waiting for its garbage collection`
  throw new Fault('conflict', message, { retryable: true })
}

/** Who an object belongs to, as it says itself: its controller, a Helm release, or what manages it. */
export function ownerText(object: KubeObject): string | undefined {
  const { annotations = {}, labels = {} } = object.metadata
  const controller = controllerOf(object)
  if (controller) return `the ${controller.kind} "${controller.name}"`
  const release = annotations['meta.helm.sh/release-name']
  if (release !== undefined) return `the Helm release "${release}"`
  return labels['app.kubernetes.io/managed-by']
}
