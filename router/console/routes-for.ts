/** Assembles the routes of the console from the parts of a router. */
import type { PortsOptions } from '../ports.ts'
import { createCatalogDigest } from './catalog-digest.ts'
import type { ConsoleHost } from './host.ts'
import { createLooks } from './looks.ts'
import { createProfileTokens } from './profile-tokens.ts'
import type { ConsoleRoutes } from './routes.ts'

/** Throws an Error if the router keeps nothing for a console. */
export type RoutesFor = (host: ConsoleHost) => ConsoleRoutes

type RouterParts = Pick<ConsoleRoutes, 'access' | 'identify' | 'openRequests'> &
  Partial<Pick<ConsoleRoutes, 'failedLogins'>>

export function consoleRoutes(given: PortsOptions, parts: RouterParts): RoutesFor {
  const { feed, served, pool, metrics, semantic, audit, clock, options } = given
  const { access, identify, openRequests, failedLogins } = parts
  const [digestOf, profileTokens] = [createCatalogDigest(), createProfileTokens()]
  return host => {
    if (!feed || !failedLogins) throw new Error('this router keeps nothing for a console')
    const facts = () => {
      const [search, tokens, members] = [semantic.status(), metrics.tokens(), pool.status()]
      return { host, past: feed.past, search, tokens, members, digestOf, profileTokens }
    }
    const shared = { access, identify, openRequests, failedLogins, audit, clock, log: options.log }
    const looks = createLooks(clock, facts)
    return { ...shared, host, feed, encodeQuery: semantic.encodeQuery, looks, current: served.current }
  }
}
