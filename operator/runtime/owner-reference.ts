/** Whose an object is: the owner reference that we write, and what is found on objects that stand already. Pure. */
import { Fault } from '../../core/errors.ts'
import type { KubeObject, OwnerReference } from '../../core/kube/object.ts'

export function controllerOf({ metadata }: KubeObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(reference => reference.controller)
}

/** The object as it is written for its owner: in its namespace, deleted with it. Throws where the owner is not from the cluster. */
export function ownedBy<T extends KubeObject>(object: T, owner: KubeObject): T {
  const { apiVersion, kind, metadata } = owner
  const { name, namespace, uid } = metadata
  if (!uid) throw new Error(`${kind} ${name} has no uid: it was not read from the API server`)
  const reference = { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }
  return { ...object, metadata: { ...object.metadata, namespace, ownerReferences: [reference] } }
}

/**
 * Whether an object that stands is ours to write. Throws a retryable Fault where it is of an owner of the same name that was
 * deleted: the cluster is about to delete it too.
 */
export function isOwnedBy(object: KubeObject, owner: KubeObject): boolean {
  const controller = controllerOf(object)
  if (!controller) return false
  if (controller.uid === owner.metadata.uid) return true
  if (controller.kind !== owner.kind || controller.name !== owner.metadata.name) return false
  const message = `${object.kind} ${object.metadata.name} of the former ${owner.kind} ${controller.name} is still to be deleted`
  throw new Fault('conflict', message, { retryable: true })
}
