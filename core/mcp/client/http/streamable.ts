/** Upstreams over streamable HTTP: detects the era, remembers it, and detects it again if the upstream changed. */
import { Fault } from '../../../errors.ts'
import type { Era } from '../../protocol/revisions.ts'
import type { Upstream } from '../../upstream.ts'
import { upstreamDeadline } from '../../upstream-deadline.ts'
import { createHttpClient, type HttpClient } from './http-client.ts'
import { openLegacy } from './legacy-session.ts'
import { openModern } from './modern-session.ts'
import type { Session, SessionHooks } from './session.ts'
import { type Opening, SessionUpstream } from './session-upstream.ts'
import type { RemoteDeps, RemoteSpec } from './spec.ts'

/** A 2025 server may never answer `server/discover`. */
const PROBE_TIMEOUT_MS = 3_000

/** An upstream behind a streamable HTTP endpoint. */
export function createHttpUpstream(spec: RemoteSpec, deps: RemoteDeps): Upstream {
  const http = createHttpClient(spec, deps)
  return new SessionUpstream(spec, deps, createOpening(http, deps), http.close)
}

/** Opens sessions in the preferred era, or in the other one if the upstream does not speak it. */
function createOpening(http: HttpClient, deps: RemoteDeps): Opening {
  const speaks: Record<Era, boolean | undefined> = { modern: undefined, legacy: undefined }
  return {
    speaks: era => speaks[era],
    questionsOfCalls: true,
    async open(hooks, signal) {
      const newerFirst = hooks.prefers === 'modern' ? speaks.modern !== false : speaks.legacy === false
      const preferred: Era = newerFirst ? 'modern' : 'legacy'
      let era: Era | undefined
      const lost = () => {
        // The server may have been replaced by one of the other era.
        if (era === 'modern') speaks.modern = undefined
        hooks.lost()
      }
      const open = newerFirst ? openNewerFirst : openOlderFirst
      const session = await open(http, deps, { ...hooks, lost }, signal)
      era = session.info.era ?? 'legacy'
      speaks[era] = true
      if (era !== preferred) speaks[preferred] = false
      return session
    },
  }
}

type Open = (http: HttpClient, deps: RemoteDeps, hooks: SessionHooks, signal: AbortSignal) => Promise<Session>

const openNewerFirst: Open = async (http, deps, hooks, signal) => {
  const limit = upstreamDeadline(deps.clock, PROBE_TIMEOUT_MS, 'No answer to server/discover in time', signal)
  let slow = false
  try {
    const session = await openModern(http, deps, hooks, limit.signal)
    if (session) return session
  } catch (error) {
    if (signal.aborted || !leavesOtherEra(error)) throw error
    slow = limit.signal.aborted
  } finally {
    limit.clear()
  }
  // A server that was too slow is probed again, without this limit, if it refuses the 2025 handshake.
  return slow ? openOlderFirst(http, deps, hooks, signal) : openLegacy(http, deps, hooks, signal)
}

const openOlderFirst: Open = async (http, deps, hooks, signal) => {
  try {
    return await openLegacy(http, deps, hooks, signal)
  } catch (refusal) {
    if (signal.aborted || !leavesOtherEra(refusal)) throw refusal
    const session = await openModern(http, deps, hooks, signal).catch(() => undefined)
    if (session) return session
    throw refusal
  }
}

/** Whether a fault may mean that the server speaks the other era. Refused credentials and server errors do not. */
function leavesOtherEra(error: unknown): boolean {
  if (!(error instanceof Fault)) return false
  const { code, details } = error
  const codes = ['upstream_protocol', 'upstream_died', 'upstream_timeout']
  return codes.includes(code) || details.status === 404
}
