/** The requests whose answers are still open. Reviews end those whose callers are no longer admitted. */
import type { ServerResponse } from 'node:http'
import { inTurns } from '../../core/async.ts'
import type { AccessConfig } from '../../core/catalog/access-config.ts'
import type { Identity, IdentityKind } from '../../core/mcp/identity.ts'
import { whenClosed } from '../../core/mcp/server/post-response.ts'
import { type Placed, PlacedList } from '../../core/placed-list.ts'
import type { Found } from '../access/authentication.ts'
import type { Identify } from './mcp-route.ts'

export type OpenRequests = {
  /** Keeps a request until its answer is sent. */
  add(raw: ServerResponse, identity: Identity, authorization: string | undefined): void
  /** Ends the answers to callers whose credentials are no longer admitted. `kind`: only of callers of this kind. */
  review(access: AccessConfig, kind?: IdentityKind): Promise<void>
}

type Open = Placed & { raw: ServerResponse; identity: Identity; authorization: string | undefined }

/** How many credentials a review verifies at the same time: fewer than authentication accepts, so that new callers are not refused meanwhile. */
const AT_ONCE = 64

export function createOpenRequests(identify: Identify): OpenRequests {
  const open = new PlacedList<Open>()
  return {
    add(raw, identity, authorization) {
      const one = { raw, identity, authorization, place: 0 }
      open.add(one)
      whenClosed(raw, () => open.remove(one))
    },
    async review(access, kind) {
      const reviewed = open.toArray().filter(({ identity }) => !kind || identity.kind === kind)
      await inTurns(reviewed, AT_ONCE, async ({ raw, identity, authorization }) => {
        const found = identify(access, authorization)
        if (isOver(found instanceof Promise ? await found : found, identity)) end(raw)
      })
    },
  }
}

/** Whether the caller is no longer admitted. Not if that is unknown because keys or the API server cannot be reached (503). */
function isOver(found: Found, { id }: Identity): boolean {
  return 'id' in found ? found.id !== id : found.status !== 503
}

/** A stream of a GET just ends; the answer of a POST breaks off, which aborts its call. */
function end(raw: ServerResponse): void {
  if (raw.req.method === 'GET' && raw.headersSent) raw.end()
  else raw.destroy()
}
