/** The page /debug/users: who has something of their own at which server. Programs of this machine may end it; no page in a browser may. */
import { TRANSPORT_ERROR } from '../../core/mcp/protocol/error-codes.ts'
import type { Pool } from '../upstream/pool.ts'
import { type App, type OnRequest, respond } from './app.ts'

export const USERS_PATH = '/debug/users'

export type UsersPage = Pick<Pool, 'users' | 'endUser'>

/** `here` admits requests of this machine alone. */
export function addUsersPage({ fastify }: App, { users, endUser }: UsersPage, here: OnRequest): void {
  fastify.get(USERS_PATH, { onRequest: here }, (_request, reply) => reply.send(users()))
  fastify.delete<{ Params: { server: string; user: string } }>(
    `${USERS_PATH}/:server/:user`,
    { onRequest: notOfPage(here) },
    ({ params: { server, user } }, reply) => reply.code(endUser(server, user) ? 204 : 404).send(),
  )
}

/** Of the requests that `here` admits, those that no page in a browser has sent. */
export function notOfPage(here: OnRequest): OnRequest {
  return (request, reply, done) =>
    here(request, reply, () => {
      const isOfPage = request.headers.origin !== undefined || request.headers['sec-fetch-site'] !== undefined
      if (!isOfPage) done()
      else respond(reply, 403, TRANSPORT_ERROR, 'Pages in a browser may not do this.')
    })
}
