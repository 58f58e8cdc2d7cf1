/** The page /debug/users: the users of each server with `sessions: perUser`. Programs of this machine may close a user's upstream; no page in a browser may. */
import { TRANSPORT_ERROR } from '../../core/mcp/protocol/error-codes.ts'
import type { Pool } from '../upstream/pool.ts'
import { type App, type OnRequest, respond } from './app.ts'

export const USERS_PATH = '/debug/users'

export type UsersPage = Pick<Pool, 'users' | 'endUser'>

/** `here` admits only requests from this machine. */
export function addUsersPage({ fastify }: App, { users, endUser }: UsersPage, here: OnRequest): void {
  fastify.get(USERS_PATH, { onRequest: here }, (_request, reply) => reply.send(users()))
  fastify.delete<{ Params: { server: string; user: string } }>(
    `${USERS_PATH}/:server/:user`,
    { onRequest: notOfPage(here) },
    ({ params: { server, user } }, reply) => reply.code(endUser(server, user) ? 204 : 404).send(),
  )
}

/** Admits those requests that `here` admits, except those sent by a page in a browser, which have an Origin or Sec-Fetch-Site header. */
export function notOfPage(here: OnRequest): OnRequest {
  return (request, reply, done) =>
    here(request, reply, () => {
      const isOfPage = request.headers.origin !== undefined || request.headers['sec-fetch-site'] !== undefined
      if (!isOfPage) done()
      else respond(reply, 403, TRANSPORT_ERROR, 'Pages in a browser may not do this.')
    })
}
