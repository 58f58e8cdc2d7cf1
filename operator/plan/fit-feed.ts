/** Keeps the feed of a gateway small enough for its ConfigMap, whatever the servers that it selects. Pure. */
import type { RouterFeed } from '../../core/catalog/feed.ts'
import { encodeFeed } from '../../core/catalog/feed-text.ts'
import type { RouterConfig, RouterServer } from '../../core/catalog/router-config.ts'
import type { Problem } from '../../core/errors.ts'
import { REASON } from '../../crds/conditions.ts'

/** Limit of the encoded feed. A ConfigMap may have 1 MiB. */
export const MAX_FEED_BYTES = 1023 * 1024
/** After the first try, each further one keeps this share of what the one before kept. */
const SHRINK = 0.9
const MIN_SHARE = 0.01

type Fitted = { config: RouterConfig; feed: Buffer; problems: Problem[] }

/**
 * The feed without the largest servers, as many as must be left out, and their problems. `feedOf`: the feed of a config. If even a feed with
 * hardly a server is too large, the whole one is returned, which the API server refuses.
 */
export function fitFeed(config: RouterConfig, feedOf: (config: RouterConfig) => RouterFeed): Fitted {
  const whole = encodeFeed(feedOf(config))
  if (whole.length <= MAX_FEED_BYTES) return { config, feed: whole, problems: [] }
  // The smallest first; servers of the same size in the order of their names.
  const sized = config.servers
    .map(({ name, ...server }) => ({ name, size: sizeOf(server) }))
    .sort((a, b) => a.size - b.size)
  const total = sized.reduce((sum, { size }) => sum + size, 0)
  // Encoding takes long: the first try assumes that all servers compress equally well.
  for (let share = MAX_FEED_BYTES / whole.length; share > MIN_SHARE; share *= SHRINK) {
    let room = total * share
    const kept = new Set<string>()
    for (const { name, size } of sized) {
      room -= size
      if (room < 0) break
      kept.add(name)
    }
    const fitted = { ...config, servers: config.servers.filter(({ name }) => kept.has(name)) }
    const feed = encodeFeed(feedOf(fitted))
    if (feed.length > MAX_FEED_BYTES) continue
    const left = sized.filter(({ name }) => !kept.has(name)).reverse()
    return { config: fitted, feed, problems: left.map(({ name, size }) => leftOut(name, size)) }
  }
  return { config, feed: whole, problems: [rulesTooLarge] }
}

/** The size of a server's config without what depends on its state, so that a change of state does not change which servers are left out. */
function sizeOf({ status: _, sleep: __, users, ...server }: Omit<RouterServer, 'name'>): number {
  return JSON.stringify({ ...server, users: users && { ...users, problems: undefined } }).length
}

const LIMIT = `${MAX_FEED_BYTES / 1024} KiB (compressed)`

function leftOut(name: string, size: number): Problem {
  return {
    reason: REASON.tooLarge,
    path: 'spec.servers',
    message: `McpServer ${name} is left out: the configuration of the routers may have ${LIMIT}, and it is one of the largest servers (${Math.ceil(size / 1024)} KiB before the compression). Shorten its tools.overrides, headers and lists, or select fewer servers`,
  }
}

const rulesTooLarge: Problem = {
  reason: REASON.tooLarge,
  path: 'spec.access',
  message: `the configuration of the routers may have ${LIMIT}, and has more without any server: shorten spec.access and the scripts`,
}
