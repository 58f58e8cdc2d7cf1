/** What a server tells of a resource that changed, and which watchers it is for. Pure. */
import { isObject } from '../../json.ts'
import type { Notification } from './json-rpc.ts'
import { META_SUBSCRIPTION_ID } from './revisions.ts'

/** Resources of one upstream that are watched at once; more are refused. */
export const MAX_WATCHED = 1_000

export type ResourceUpdate = {
  uri: string
  /** As watchers are told: without the id of our own subscription. */
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

/** Whether who watches one resource is told of another: a server may tell of a part of what is watched. */
export function covers(watched: string, uri: string): boolean {
  return uri === watched || uri.startsWith(watched.endsWith('/') ? watched : `${watched}/`)
}
