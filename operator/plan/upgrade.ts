/** An upgrade of the operator changes the pods of every server. Servers take turns, so that a mistake stops the upgrade and not the servers. Pure. */
import type { V1Deployment, V1PodTemplateSpec } from '@kubernetes/client-node'
import type { JsonOf, Kube } from '../../core/kube/object.ts'
import type { McpServer } from '../../crds/server.ts'
import { ANNOTATION } from './names.ts'
import { revisionOf } from './template.ts'

/** Why a Deployment has its revision: the manifest, or an object that it names, has changed, or the operator has. */
export type Cause = 'Manifest' | 'Upgrade'

type Template = JsonOf<V1PodTemplateSpec>
type Deployment = Kube<V1Deployment>

/** How many servers may roll at a time in an upgrade: a share of all, but at least one, and at most `perNamespace` in each namespace. */
export type Waves = { share: number; perNamespace: number }

/** Why a Deployment gets this template. The cause stays on the Deployment until its revision changes again. */
export function causeOf(current: Deployment | undefined, server: McpServer, template: Template): Cause {
  if (revisionOf(current?.spec?.template ?? {}) === revisionOf(template)) return markedCause(current)
  return isUnchanged(current, server, template) ? 'Upgrade' : 'Manifest'
}

/**
 * Whether serving pods would be replaced although neither the manifest nor what it names has changed. Pods that do not serve need not wait, nor
 * those that are being replaced already. A new number of replicas that is not observed yet replaces no pods.
 */
export function isUpgrade(current: Deployment | undefined, server: McpServer, template: Template): boolean {
  if (!current || revisionOf(current.spec?.template ?? {}) === revisionOf(template)) return false
  const serves = (current.status?.readyReplicas ?? 0) > 0 && !replacesPods(current)
  return serves && isUnchanged(current, server, template)
}

/** Whether the upgrade of a Deployment has begun, and its old pods still serve. */
export function isUpgrading(deployment: Deployment): boolean {
  return markedCause(deployment) === 'Upgrade' && isRolling(deployment)
}

/** How many of this number of servers may roll at a time. */
export function maxRolling({ share }: Waves, servers: number): number {
  return Math.max(1, Math.floor(servers * share))
}

/** Whether the Deployment was made for this manifest and these inputs. One that an earlier version wrote lacks the generation, and counts as made for it. */
function isUnchanged(current: Deployment | undefined, { metadata }: McpServer, template: Template): boolean {
  const madeFor = current?.metadata.annotations?.[ANNOTATION.madeFor] ?? String(metadata.generation)
  return madeFor === String(metadata.generation) && inputsOf(current?.spec?.template) === inputsOf(template)
}

function isRolling(deployment: Deployment): boolean {
  const { metadata, status } = deployment
  return (status?.observedGeneration ?? 0) < (metadata.generation ?? 0) || replacesPods(deployment)
}

/** Whether there are pods of an earlier revision, as far as the status says. */
function replacesPods({ status }: Deployment): boolean {
  return (status?.replicas ?? 0) > (status?.updatedReplicas ?? 0)
}

function markedCause(deployment: Deployment | undefined): Cause {
  return deployment?.metadata.annotations?.[ANNOTATION.cause] === 'Upgrade' ? 'Upgrade' : 'Manifest'
}

function inputsOf(template: Template | undefined): string | undefined {
  return template?.metadata?.annotations?.[ANNOTATION.inputs]
}
