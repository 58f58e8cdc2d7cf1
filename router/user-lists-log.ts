/** Connects the lists of users to a router: to its shared lists, a limit for all users together, and its log. */
import type { Clock } from '../core/async.ts'
import { Fault, messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { Catalog } from './catalog/catalog.ts'
import type { Newest } from './source/newest.ts'
import { ListRoom } from './upstream/list-room.ts'
import type { UserListsDeps } from './upstream/user-lists.ts'

export function listsOfUsers(
  { log, clock, served }: { log: Log; clock: Clock; served: Newest<Catalog> },
  onChanged: () => void,
): UserListsDeps {
  const onFull = (server: string) =>
    log.warn({ server }, 'no room for the lists of another user; the shared ones serve')
  return {
    shared: server => served.current()?.catalogs.get(server),
    room: new ListRoom({ clock, onFull }),
    onChanged,
    onFailed(server, { id: user }, error) {
      // It is normal that a user has not logged in yet.
      const level = error instanceof Fault && error.code === 'user_refused' ? 'debug' : 'warn'
      log[level]({ server, user, reason: messageOf(error) }, 'the lists of a user could not be read')
    },
  }
}
