/** An upgrade of the operator changes the pods of every server. Servers take turns, so that a mistake stops the upgrade and not the servers. Pure. */
import type { V1Deployment, V1PodTemplateSpec } from '@kubernetes/client-node'
import type { JsonOf, Kube } from '../../core/kube/object.ts'
import type { McpServer } from '../../crds/server.ts'
import { ANNOTATION } from './names.ts'
import { revisionOf } from './template.ts'

/** Why a Deployment has its revision: its manifest or what that names has changed, or the operator has. */
export type Cause = 'Manifest' | 'Upgrade'

type Template = JsonOf<V1PodTemplateSpec>
type Deployment = Kube<V1Deployment>

/** How many servers roll at a time in an upgrade: a share of all, at least one, and so many in a namespace. */
export type Waves = { share: number; perNamespace: number }

/** Kept on the Deployment until its revision changes again. */
export function causeOf(standing: Deployment | undefined, server: McpServer, template: Template): Cause {
  if (revisionOf(standing?.spec?.template ?? {}) === revisionOf(template)) return markedCause(standing)
  return isUnchanged(standing, server, template) ? 'Upgrade' : 'Manifest'
}

/** Whether serving pods would be replaced although nothing of the server has changed. Pods that do not serve need not wait for a turn. */
export function isUpgrade(standing: Deployment | undefined, server: McpServer, template: Template): boolean {
  if (!standing || revisionOf(standing.spec?.template ?? {}) === revisionOf(template)) return false
  const serves = (standing.status?.readyReplicas ?? 0) > 0 && !isRolling(standing)
  return serves && isUnchanged(standing, server, template)
}

/** Deployments whose upgrade has begun, and whose old pods still serve. */
export function isUpgrading(deployment: Deployment): boolean {
  return markedCause(deployment) === 'Upgrade' && isRolling(deployment)
}

/** How many of `servers` may roll at a time. */
export function atATime({ share }: Waves, servers: number): number {
  return Math.max(1, Math.floor(servers * share))
}

/** Deployments that an earlier version wrote have no annotation with the manifest's generation. */
function isUnchanged(standing: Deployment | undefined, { metadata }: McpServer, template: Template): boolean {
  const madeFor = standing?.metadata.annotations?.[ANNOTATION.madeFor] ?? String(metadata.generation)
  return madeFor === String(metadata.generation) && inputsOf(standing?.spec?.template) === inputsOf(template)
}

function isRolling({ metadata, status }: Deployment): boolean {
  const { observedGeneration = 0, replicas = 0, updatedReplicas = 0 } = status ?? {}
  return observedGeneration < (metadata.generation ?? 0) || replicas > updatedReplicas
}

function markedCause(deployment: Deployment | undefined): Cause {
  return deployment?.metadata.annotations?.[ANNOTATION.cause] === 'Upgrade' ? 'Upgrade' : 'Manifest'
}

function inputsOf(template: Template | undefined): string | undefined {
  return template?.metadata?.annotations?.[ANNOTATION.inputs]
}
