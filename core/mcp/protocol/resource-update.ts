/** Reads updates of resources, and matches them to subscriptions. Pure. */
import { isObject } from '../../json.ts'
import type { Notification } from './json-rpc.ts'
import { META_SUBSCRIPTION_ID } from './revisions.ts'

export type ResourceUpdate = {
  uri: string
  /** As subscribers receive it: without the id of our own subscription. */
  notification: Notification
}

/** Undefined if the notification names no resource. */
export function readUpdate(notification: Notification): ResourceUpdate | undefined {
  const { method, params } = notification
  const uri = params?.uri
  if (typeof uri !== 'string') return undefined
  if (!isObject(params?._meta) || params._meta[META_SUBSCRIPTION_ID] === undefined)
    return { uri, notification }
  const { [META_SUBSCRIPTION_ID]: _ours, ...meta } = params._meta
  const { _meta, ...rest } = params
  return {
    uri,
    notification: { method, params: Object.keys(meta).length > 0 ? { ...rest, _meta: meta } : rest },
  }
}

/** Whether an update of `uri` concerns a subscription: a server may report a sub-resource of the subscribed one. */
export function covers(subscribed: string, uri: string): boolean {
  return uri === subscribed || uri.startsWith(subscribed.endsWith('/') ? subscribed : `${subscribed}/`)
}
