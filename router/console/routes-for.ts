/** Makes what the console asks a router for out of the router's parts. */
import type { PortsOptions } from '../ports.ts'
import type { ConsoleHost } from './host.ts'
import type { ConsoleRoutes } from './routes.ts'

/** Throws an Error if the router keeps nothing for a console. */
export type RoutesFor = (host: ConsoleHost) => ConsoleRoutes

type Means = Pick<ConsoleRoutes, 'access' | 'identify' | 'standing'> &
  Partial<Pick<ConsoleRoutes, 'failedLogins'>>

export function consoleRoutes(given: PortsOptions, means: Means): RoutesFor {
  const { feed, served, pool, metrics, semantic, audit, clock, options } = given
  const { access, identify, standing, failedLogins } = means
  return host => {
    if (!feed || !failedLogins) throw new Error('this router keeps nothing for a console')
    const facts = () => {
      const [search, tokens, members] = [semantic.status(), metrics.tokens(), pool.status()]
      return { host, past: feed.past, search, tokens, members }
    }
    const shared = { access, identify, standing, failedLogins, audit, clock, log: options.log }
    return { ...shared, host, feed, encodeQuery: semantic.encodeQuery, facts, current: served.current }
  }
}
