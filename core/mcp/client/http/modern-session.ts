/** A `Session` for a 2026 upstream. That era has no sessions: this one consists of the result of `server/discover` and the change stream. */
import { changesFilter } from '../../protocol/declares.ts'
import { isChange, notifyCaller } from '../../protocol/message.ts'
import { MODERN_VERSIONS } from '../../protocol/revisions.ts'
import type { UpstreamCall } from '../../upstream.ts'
import { probe } from '../handshake.ts'
import type { Heard } from './answer-stream.ts'
import { ChangeStream } from './change-stream.ts'
import type { HttpClient } from './http-client.ts'
import { HttpRpc } from './http-rpc.ts'
import type { Session, SessionHooks } from './session.ts'
import type { RemoteDeps } from './spec.ts'

/** Probes the upstream; undefined if it does not speak the 2026 era. Throws the Faults of the probe. */
export async function openModern(
  http: HttpClient,
  deps: RemoteDeps,
  hooks: SessionHooks,
  signal: AbortSignal,
): Promise<Session | undefined> {
  const rpc = new HttpRpc(http, deps.clock, heardBy(hooks))
  rpc.modern = MODERN_VERSIONS[0]
  const info = await probe((call, end) => rpc.ask(call, end), signal)
  if (!info) return undefined
  rpc.modern = info.wireVersion
  rpc.onLost = hooks.lost
  const lists = hooks.listen ? changesFilter(info.capabilities) : {}
  const changes = new ChangeStream(rpc, http, deps, hooks, lists)
  if (Object.keys(lists).length > 0) void changes.renew().catch(() => {})
  return {
    info,
    request: (call, end) => rpc.ask(call, end),
    // The 2026 era has no notifications from clients.
    tell: () => {},
    subscribe: (uri, end) => changes.subscribe(uri, end),
    unsubscribe: uri => changes.unsubscribe(uri),
    close: async () => changes.close(),
  }
}

/** Messages on a call's stream belong to that call. There are no questions: 2026 servers ask with `input_required`. */
function heardBy(hooks: SessionHooks): Heard {
  return (message, _characters, call: UpstreamCall) => {
    if (message.kind !== 'notification') return
    if (isChange(message.notification.method)) hooks.notified(message.notification)
    else notifyCaller(call, message.notification)
  }
}
