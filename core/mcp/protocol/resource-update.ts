/** An update of a resource, and which subscriptions it is for. Pure. */
import { isObject } from '../../json.ts'
import type { Notification } from './json-rpc.ts'
import { META_SUBSCRIPTION_ID } from './revisions.ts'

export type ResourceUpdate = {
  uri: string
  /** As subscribers get it: without the id of our own subscription. */
  told: Notification
}

/** Undefined where it does not say of which resource. */
export function readUpdate(notification: Notification): ResourceUpdate | undefined {
  const { method, params } = notification
  const uri = params?.uri
  if (typeof uri !== 'string') return undefined
  if (!isObject(params?._meta) || params._meta[META_SUBSCRIPTION_ID] === undefined)
    return { uri, told: notification }
  const { [META_SUBSCRIPTION_ID]: _ours, ...meta } = params._meta
  const { _meta, ...rest } = params
  return { uri, told: { method, params: Object.keys(meta).length > 0 ? { ...rest, _meta: meta } : rest } }
}

/** Whether an update of `uri` is for a subscription: a server may send updates of parts of a resource. */
export function covers(subscribed: string, uri: string): boolean {
  return uri === subscribed || uri.startsWith(subscribed.endsWith('/') ? subscribed : `${subscribed}/`)
}
