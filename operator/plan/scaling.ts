/** The scaling that a server's manifest asks for. Pure. */

import { hasInstances } from '../../core/catalog/instances.ts'
import { CONDITION, REASON } from '../../crds/conditions.ts'
import { parseDuration } from '../../crds/quantity.ts'
import type { McpServer } from '../../crds/server.ts'
import { ANNOTATION } from './names.ts'
import type { ServerWorld } from './plan.ts'
import { type Scale, type Scaling, type ServerLoad, scaleOf } from './scale.ts'

/** Load before any router has reported: no instance is stopped. */
const UNKNOWN: ServerLoad = { isKnown: false, isWanted: false, calls: 0, sessions: 0 }
/** The load of a server that is used only to read its lists. */
export const UNUSED: ServerLoad = { isKnown: true, isWanted: false, calls: 0, sessions: 0, usedAtMs: 0 }

export function scalingOf({ spec }: McpServer): Scaling {
  const { min = 1, max, idleAfter, callsPerPod, external } = spec.scaling
  return { min, max, idleAfterMs: parseDuration(idleAfter), callsPerPod, external }
}

/** How many shared instances should run. Where users have their own pods, calls do not use the shared ones. */
export function serverScale({ server, deployment, use, now }: ServerWorld): Scale {
  if (server.spec.suspend) return { wanted: 0, why: 'spec.suspend', memory: {} }
  const {
    load = hasInstances(server) ? UNUSED : UNKNOWN,
    memory = {},
    current = deployment?.spec?.replicas,
  } = use ?? {}
  const madeFor = deployment?.metadata.annotations?.[ANNOTATION.madeFor]
  const isChanged = madeFor !== undefined && madeFor !== String(server.metadata.generation)
  const scaling = scalingOf(server)
  return scaleOf({ scaling, current, isChanged, isReady: isReady(server), load, memory, now })
}

/** Whether the condition Ready has the reason Ready for the current manifest. A server that is being woken has another reason. */
function isReady({ metadata, status }: McpServer): boolean {
  const ready = status?.conditions?.find(({ type }) => type === CONDITION.ready)
  return ready?.reason === REASON.ready && ready.observedGeneration === metadata.generation
}

/** Whether the number of its instances, or which users have one, depends on its use. */
export function isScaled(server: McpServer): boolean {
  const { min, max, external } = scalingOf(server)
  if (!hasPods(server) || server.spec.suspend) return false
  return hasInstances(server) || (!external && (min === 0 || max > min))
}

/** Whether it sleeps and no user has a pod, so that only a waiting call or a changed manifest can change the number of its instances. */
export function isAtRest(server: McpServer): boolean {
  const { metadata, status } = server
  if (!isScaled(server)) return true
  const wanted = hasInstances(server) ? status?.users?.wanted : status?.replicas?.wanted
  return wanted === 0 && status?.observedGeneration === metadata.generation
}

/** Whether it may be asleep, so that calls may have to wait until it is woken. */
export function maySleep(server: McpServer): boolean {
  return hasPods(server) && server.spec.scaling.min === 0
}

function hasPods({ spec }: McpServer): boolean {
  return !spec.remote && !spec.command
}
