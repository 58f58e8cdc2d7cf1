/** Keeps the feed of a gateway small enough for its ConfigMap, whatever the servers that it selects. Pure. */
import { OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import type { RouterFeed } from '../../core/catalog/feed.ts'
import { encodeFeed } from '../../core/catalog/feed-text.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { Problem } from '../../core/errors.ts'
import { REASON } from '../../crds/conditions.ts'

/** As encoded. A ConfigMap may have 1 MiB. */
export const MAX_FEED_BYTES = 900 * 1024

type Fitted = { config: RouterConfig; feed: Buffer; problems: Problem[] }

/** The feed without the largest servers, as many as must be left out, and their problems. `feedOf`: the feed of a config. */
export function fitFeed(config: RouterConfig, feedOf: (config: RouterConfig) => RouterFeed): Fitted {
  let feed = encodeFeed(feedOf(config))
  if (feed.length <= MAX_FEED_BYTES) return { config, feed, problems: [] }
  const bare = { ...config, access: OPEN_ACCESS, scripts: [] }
  const sizeOf = (servers: RouterConfig['servers']) => encodeFeed(feedOf({ ...bare, servers })).length
  const common = sizeOf([])
  // Servers of the same size stay in the order of their names.
  const largest = config.servers
    .map(server => ({ name: server.name, bytes: sizeOf([server]) - common }))
    .sort((a, b) => b.bytes - a.bytes)
  const left = new Map<string, number>()
  let fitted = config
  while (feed.length > MAX_FEED_BYTES && left.size < largest.length) {
    let excess = feed.length - MAX_FEED_BYTES
    for (const { name, bytes } of largest.slice(left.size)) {
      if (excess <= 0) break
      left.set(name, bytes)
      excess -= Math.max(bytes, 1)
    }
    fitted = { ...config, servers: config.servers.filter(({ name }) => !left.has(name)) }
    feed = encodeFeed(feedOf(fitted))
  }
  return { config: fitted, feed, problems: [...left].map(([name, bytes]) => problemOf(name, bytes)) }
}

function problemOf(name: string, bytes: number): Problem {
  const [kib, limit] = [bytes, MAX_FEED_BYTES].map(size => `${Math.ceil(size / 1024)} KiB`)
  return {
    reason: REASON.tooLarge,
    path: 'spec.servers',
    message: `McpServer ${name} is left out: it needs ${kib} of the ${limit} (compressed) that the configuration of the routers may have. Shorten its tools.overrides, headers and lists, limit its users, or select fewer servers`,
  }
}
