/** The logins of users in a cluster: as its routers know them, which alone can open them. */
import { LOGINS_PATH, type ShownLogin } from '../router/http/logins-page.ts'
import { CommandError } from './command-error.ts'
import { deleteAtRouters, listedByRouters, type Place } from './routers-in-cluster.ts'

/** Of all gateways of the namespace, each once. */
export async function loginsInCluster(place: Place): Promise<ShownLogin[]> {
  const said = await listedByRouters<ShownLogin>(place, LOGINS_PATH, 'logins')
  const each = new Map(said.map(login => [login.id, login]))
  const key = ({ server, subject }: ShownLogin) => `${server}\0${subject}`
  return [...each.values()].sort((a, b) => (key(a) < key(b) ? -1 : 1))
}

/** The routers of the gateway that has these logins delete them; other gateways do not know them. */
export async function deleteInCluster(place: Place, logins: readonly ShownLogin[]): Promise<void> {
  for (const { server, id } of logins) {
    if (!(await deleteAtRouters(place, LOGINS_PATH, server, id)))
      throw new CommandError(`a login at ${server} could not be deleted: no router has it`)
  }
}
