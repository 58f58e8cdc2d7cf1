/** The feed as bytes: round trips, equal bytes for equal feeds, refusal of other texts. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { OPEN_ACCESS } from './access-config.ts'
import type { RouterFeed } from './feed.ts'
import { decodeFeed, encodeFeed } from './feed-text.ts'

const FEED: RouterFeed = {
  config: {
    gateway: { name: 'tools', namespace: 'default' },
    profile: 'hierarchical',
    allowedProfiles: [],
    exposeServers: false,
    access: OPEN_ACCESS,
    budget: { definitionTokens: 1, activeTools: 2, responseTokens: 3 },
    search: { semantic: 'auto' },
    servers: [],
  },
  slices: { a: { digest: '1', parts: 1 }, b: { digest: '2', parts: 3 } },
  secrets: { 'mcp-a': '17' },
}

test('a feed survives a round trip, and equal feeds give equal bytes whatever the order of their keys', () => {
  assert.deepEqual(decodeFeed(encodeFeed(FEED)), FEED)
  const { secrets, slices, config } = FEED
  const other = { secrets, slices: { b: slices.b, a: slices.a }, config } as RouterFeed
  assert.deepEqual(encodeFeed(other), encodeFeed(FEED))
})

test('bytes that are not a feed are rejected', () => {
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.from('{}'),
    gzipSync('{'),
    gzipSync('{}'),
    encodeFeed(FEED).subarray(5),
  ])
    assert.throws(() => decodeFeed(bytes), { name: 'Fault', code: 'invalid_data' })
})
