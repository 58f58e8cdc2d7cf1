/** Records changes of conditions as events on the objects, for `kubectl describe` and `kubectl events`. */
import { randomBytes } from 'node:crypto'
import type { EventsV1Event } from '@kubernetes/client-node'
import type { Clock } from '../../core/async.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import { messageOf } from '../../core/errors.ts'
import type { KubeClient } from '../../core/kube/client.ts'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import type { Log } from '../../core/log.ts'
import { type Condition, REASON } from '../../crds/conditions.ts'

const CONTROLLER = 'portolan.dev/operator'
/** An object's event of one reason is not sent again within this time. */
export const REPEAT_MS = 10 * 60_000
const MAX_REMEMBERED = 5_000
const MAX_UNDER_WAY = 50
const MAX_NOTE_CHARACTERS = 1_000
/** Reasons of conditions that are not True in normal operation. */
const NORMAL_REASONS: readonly string[] = [
  REASON.starting,
  REASON.updating,
  REASON.suspended,
  REASON.discoveryPending,
]

export type EventRecorderOptions = {
  client: Pick<KubeClient, 'create'>
  /** The operator's pod, as reportingInstance. */
  instance: string
  log: Log
  clock: Clock
}

export type EventRecorder = {
  /** Sends one event for each changed condition. Resolves when they were sent or dropped; never rejects. */
  conditionsChanged(object: KubeObject, changed: readonly Condition[]): Promise<void>
}

export function createEventRecorder({ client, instance, log, clock }: EventRecorderOptions): EventRecorder {
  /** When an event was last sent, by object and reason. */
  const sent = new BoundedMap<number>(MAX_REMEMBERED)
  let underWay = 0

  const isRepeated = (key: string): boolean => {
    const now = clock.now()
    const last = sent.get(key)
    if (last !== undefined && now - last < REPEAT_MS) return true
    sent.set(key, now)
    return false
  }

  const send = async (object: KubeObject, condition: Condition) => {
    const { type, status, reason } = condition
    if (underWay >= MAX_UNDER_WAY || isRepeated(`${object.metadata.uid} ${type} ${status} ${reason}`)) return
    underWay++
    try {
      await client.create(eventOf(object, condition, instance, clock.now()))
    } catch (error) {
      log.debug(
        { kind: object.kind, name: object.metadata.name, reason, error: messageOf(error) },
        'event not sent',
      )
    } finally {
      underWay--
    }
  }

  return {
    conditionsChanged: async (object, changed) => {
      await Promise.all(changed.map(condition => send(object, condition)))
    },
  }
}

function eventOf(
  object: KubeObject,
  condition: Condition,
  instance: string,
  now: number,
): Kube<EventsV1Event> {
  const { apiVersion, kind, metadata } = object
  const { name, namespace = 'default', uid, resourceVersion } = metadata
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: `${name}.${randomBytes(8).toString('hex')}`, namespace },
    eventTime: `${new Date(now).toISOString().slice(0, -1)}000Z`,
    reportingController: CONTROLLER,
    reportingInstance: instance,
    action: condition.type,
    reason: condition.reason,
    regarding: { apiVersion, kind, name, namespace, uid, resourceVersion },
    note: condition.message.slice(0, MAX_NOTE_CHARACTERS),
    type: condition.status === 'True' || NORMAL_REASONS.includes(condition.reason) ? 'Normal' : 'Warning',
  }
}
