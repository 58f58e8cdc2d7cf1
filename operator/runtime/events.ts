/** Records changes of conditions as events on the objects, for `kubectl describe` and `kubectl events`. */
import { randomBytes } from 'node:crypto'
import type { EventsV1Event } from '@kubernetes/client-node'
import type { Clock } from '../../core/async.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import { messageOf } from '../../core/errors.ts'
import type { KubeClient } from '../../core/kube/client.ts'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import type { Log } from '../../core/log.ts'
import { CONDITION, type Condition, REASON } from '../../crds/conditions.ts'
import type { Drift } from './apply.ts'

const CONTROLLER = 'portolan.dev/operator'
/** An equal event of the same object is not sent again within this time. */
export const REPEAT_MS = 10 * 60_000
const MAX_REMEMBERED = 5_000
const MAX_IN_FLIGHT = 50
/** Limit of Kubernetes. */
const MAX_NOTE_BYTES = 1_024
/** Reasons that conditions which are not True may have in normal operation. */
const NORMAL_REASONS: readonly string[] = [REASON.starting, REASON.updating, REASON.suspended]

export type EventRecorderOptions = {
  client: Pick<KubeClient, 'create'>
  /** The operator's pod, as reportingInstance. */
  instance: string
  log: Log
  clock: Clock
}

/** `once`: identifies equal events, which are not sent again within REPEAT_MS. */
type EventFields = { once: string; action: string; reason: string; note: string; type: 'Normal' | 'Warning' }

export type EventRecorder = {
  /** Sends one event for each changed condition. Resolves when they were sent or dropped; never rejects. */
  conditionsChanged(object: KubeObject, changed: readonly Condition[]): Promise<void>
  /** Sends an event about fields that others had set in an object of `owner`. Never rejects. */
  driftRemoved(owner: KubeObject, drift: Drift): Promise<void>
}

export function createEventRecorder({ client, instance, log, clock }: EventRecorderOptions): EventRecorder {
  /** When an event was last sent, or began to be, by the object's uid and `once`. */
  const sent = new BoundedMap<number>(MAX_REMEMBERED)
  let inFlight = 0

  const isRepeated = (key: string): boolean => {
    const now = clock.elapsed()
    const last = sent.get(key)
    if (last !== undefined && now - last < REPEAT_MS) return true
    sent.set(key, now)
    return false
  }

  const send = async (object: KubeObject, event: EventFields) => {
    const { reason, once } = event
    const key = `${object.metadata.uid} ${once}`
    if (inFlight >= MAX_IN_FLIGHT || isRepeated(key)) return
    inFlight++
    try {
      await client.create(eventOf(object, event, instance, clock.now()))
    } catch (error) {
      sent.delete(key)
      log.debug(
        { kind: object.kind, name: object.metadata.name, reason, error: messageOf(error) },
        'event not sent',
      )
    } finally {
      inFlight--
    }
  }

  return {
    conditionsChanged: async (object, changed) => {
      await Promise.all(worthAnEvent(changed).map(condition => send(object, conditionEvent(condition))))
    },
    driftRemoved: (owner, drift) => send(owner, driftEvent(drift)),
  }
}

/** Leaves out what the event about Ready already says: all of Progressing, and Available except for an outage with another reason than Ready's. */
function worthAnEvent(changed: readonly Condition[]): Condition[] {
  return changed.filter(({ type, status, reason }) => {
    if (type !== CONDITION.available) return type !== CONDITION.progressing
    return (
      status === 'False' && !changed.some(other => other.type === CONDITION.ready && other.reason === reason)
    )
  })
}

function conditionEvent({ type, status, reason, message }: Condition): EventFields {
  const isNormal = status === 'True' || NORMAL_REASONS.includes(reason)
  const once = `${type} ${status} ${reason}`
  return { once, action: type, reason, note: message, type: isNormal ? 'Normal' : 'Warning' }
}

function driftEvent({ ref: { kind, name }, managers, fields }: Drift): EventFields {
  const message = `${kind} "${name}": fields set by ${managers.join(', ')} were removed: ${fields.join(', ')}`
  return {
    once: `drift ${message}`,
    action: 'Apply',
    reason: 'DriftRemoved',
    note: `${message}. What pods need belongs in the manifest's spec.pod`,
    type: 'Warning',
  }
}

function eventOf(
  object: KubeObject,
  { action, reason, note, type }: EventFields,
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
    action,
    reason,
    regarding: { apiVersion, kind, name, namespace, uid, resourceVersion },
    note: shortened(note),
    type,
  }
}

/** The beginning of a note that Kubernetes takes, without a part of a character at its end. */
function shortened(note: string): string {
  const { read } = new TextEncoder().encodeInto(note, new Uint8Array(MAX_NOTE_BYTES))
  return note.slice(0, read)
}
