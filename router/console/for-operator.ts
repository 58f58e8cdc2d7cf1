/** The console's data at the admin port of a router in a cluster, for the operator, which serves the page. */
import { OPERATOR_HEADER } from '../../core/console/cluster.ts'
import { Fault } from '../../core/errors.ts'
import { TRANSPORT_ERROR } from '../../core/mcp/protocol/error-codes.ts'
import { type App, type OnRequest, respond } from '../http/app.ts'
import type { Readiness } from '../http/serve.ts'
import type { Authenticator } from '../http/service-account.ts'
import type { ConsoleHost } from './host.ts'
import { addConsoleData, type ConsoleRoutes } from './routes.ts'

export type OperatorConsole = {
  routes: ConsoleRoutes
  /** Whether a token is the operator's. */
  authenticate: Authenticator
}

/**
 * Adds the data of the console for the operator, which sends its own token in a separate header: `authorization` has the credential of the
 * person at the page, and the answer contains what this person may see.
 */
export function addOperatorConsole(app: App, { routes, authenticate }: OperatorConsole): void {
  const guard: OnRequest = (request, reply, done) => {
    const { [OPERATOR_HEADER]: token } = request.headers
    void authenticate(typeof token === 'string' ? token : undefined).then(found => {
      if ('id' in found) return done()
      if (found.status === 401) reply.header('www-authenticate', 'Bearer')
      respond(reply, found.status, TRANSPORT_ERROR, found.message)
    })
  }
  addConsoleData(app, routes, { reading: guard, acting: guard })
}

/** In a cluster the console has no actions, since servers are changed with kubectl. What only the operator knows about servers, it adds itself. */
export function createClusterHost(readiness: () => Readiness): ConsoleHost {
  return {
    placement: 'cluster',
    actions: [],
    distinguishesCallers: ({ auth }) => auth !== undefined,
    state: () => ({ ready: readiness().ready, problems: [] }),
    server: () => undefined,
    stderr: () => [],
    manifest: () => undefined,
    changes: async () => ({ changes: [] }),
    act: async () => {
      throw new Fault('bad_request', 'In a cluster, change servers with kubectl.')
    },
  }
}
