/** The page /debug/logins of the admin port: who has logged in to which server. Programs of this machine may delete a login; no page in a browser may. */
import type { ClusterLogins } from '../logins/cluster-logins.ts'
import type { App, OnRequest } from './app.ts'
import { notOfPage } from './users-page.ts'

export const LOGINS_PATH = '/debug/logins'

/** `id` identifies a login; `sinceMs`: since the epoch. */
export type ShownLogin = {
  server: string
  id: string
  subject: string
  url: string
  sinceMs: number
  scope: string
}

/** `here` admits only requests from this machine. */
export function addLoginsPage(
  { fastify }: App,
  { host, store }: Pick<ClusterLogins, 'host' | 'store'>,
  here: OnRequest,
): void {
  const shown = (): ShownLogin[] =>
    host.servers().flatMap(server =>
      store.list(server).map(({ id, login: { subject, url, sinceMs, tokens } }) => {
        return { server, id, subject, url, sinceMs, scope: tokens.scope ?? '' }
      }),
    )
  fastify.get(LOGINS_PATH, { onRequest: here }, (_request, reply) => reply.send(shown()))
  fastify.delete<{ Params: { server: string; id: string } }>(
    `${LOGINS_PATH}/:server/:id`,
    { onRequest: notOfPage(here) },
    ({ params: { server, id } }, reply) => reply.code(store.deleteById(server, id) ? 204 : 404).send(),
  )
}
