/** Lists and deletes the logins of users in a cluster. Only its routers can decrypt them, so they are asked. */
import { LOGINS_PATH, type ShownLogin } from '../router/http/logins-page.ts'
import { CommandError } from './command-error.ts'
import {
  deleteAtRouters,
  expectAllAnswered,
  listedByRouters,
  type RouterPlace,
} from './routers-in-cluster.ts'

/** The logins of all gateways of the namespace, each once, sorted by server and user. Throws a CommandError. */
export async function loginsInCluster(place: RouterPlace): Promise<ShownLogin[]> {
  const reported = await listedByRouters<ShownLogin>(place, LOGINS_PATH, 'logins')
  const byId = new Map(reported.map(login => [login.id, login]))
  const key = ({ server, subject }: ShownLogin) => `${server}\0${subject}`
  return [...byId.values()].sort((a, b) => (key(a) < key(b) ? -1 : 1))
}

/** Asks all routers to delete the logins; each knows only those of its gateway. Throws a CommandError if none knows one, or not all answered. */
export async function deleteInCluster(place: RouterPlace, logins: readonly ShownLogin[]): Promise<void> {
  const unknown: string[] = []
  for (const { server, id } of logins)
    if (!(await deleteAtRouters(place, LOGINS_PATH, server, id))) unknown.push(server)
  expectAllAnswered(place, logins.length - unknown.length)
  if (unknown.length > 0)
    throw new CommandError(`a login at ${unknown[0]} could not be deleted: no router has it`)
}
