/** What the lists of users need of a router, and what its log says of them. */
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
      // A user who has not logged in yet is no trouble.
      const level = error instanceof Fault && error.code === 'user_refused' ? 'debug' : 'warn'
      log[level]({ server, user, reason: messageOf(error) }, 'the lists of a user could not be read')
    },
  }
}
