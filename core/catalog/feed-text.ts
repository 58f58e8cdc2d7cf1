/** Encodes the feed of a router as the bytes of its ConfigMap, and decodes it. Pure. */
import { gunzipSync, gzipSync } from 'node:zlib'
import { Fault } from '../errors.ts'
import { canonicalJson, isObject } from '../json.ts'
import type { RouterFeed } from './feed.ts'

/** The value of `data.format` in the ConfigMap, next to `binaryData.feed`. */
export const FEED_FORMAT = '1'
/** The feed of a thousand servers with overrides has about 3 MB. */
const MAX_TEXT_BYTES = 64 * 2 ** 20

/** The feed as compressed JSON. Equal feeds give equal bytes. */
export function encodeFeed(feed: RouterFeed): Buffer {
  return gzipSync(canonicalJson(feed))
}

/** Throws Fault `invalid_data` if the bytes are not a feed. */
export function decodeFeed(bytes: Buffer): RouterFeed {
  let feed: unknown
  try {
    feed = JSON.parse(gunzipSync(bytes, { maxOutputLength: MAX_TEXT_BYTES }).toString('utf8'))
  } catch (cause) {
    throw new Fault('invalid_data', 'The feed is damaged', { cause })
  }
  if (!isFeed(feed)) throw new Fault('invalid_data', 'The feed lacks a field')
  return feed
}

function isFeed(value: unknown): value is RouterFeed {
  return (
    isObject(value) &&
    isObject(value.config) &&
    isObject(value.config.gateway) &&
    Array.isArray(value.config.servers) &&
    isObject(value.slices) &&
    isObject(value.secrets)
  )
}
