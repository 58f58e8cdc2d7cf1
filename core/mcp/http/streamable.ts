/** Upstreams over streamable HTTP, 2025 era: a handshake, then one session for many requests. */

import { initialize } from '../handshake.ts'
import type { Upstream } from '../upstream.ts'
import { createLink, type Link } from './link.ts'
import { listen, tellsOfChanges } from './listen.ts'
import type { OpenSession } from './session.ts'
import { SessionUpstream } from './session-upstream.ts'
import type { RemoteDeps, RemoteSpec } from './spec.ts'
import { Wire } from './wire.ts'

/**
 * An upstream behind a streamable HTTP endpoint. A later revision of the protocol joins here as another `OpenSession`,
 * one that needs no handshake.
 */
export function createHttpUpstream(spec: RemoteSpec, deps: RemoteDeps): Upstream {
  const link = createLink(spec, deps.clock)
  return new SessionUpstream(spec, deps, openSession(link, deps), link.close)
}

function openSession(link: Link, deps: RemoteDeps): OpenSession {
  return async (hooks, signal) => {
    const wire = new Wire(link, deps, hooks.notified)
    const info = await initialize((call, end) => wire.ask(call, end), signal)
    wire.headers['mcp-protocol-version'] = info.protocolVersion
    await wire.tell({ method: 'notifications/initialized' }, signal)
    const ears = { heard: wire.heard, gone: hooks.lost }
    const stop =
      hooks.listen && tellsOfChanges(info.capabilities) ? listen(link, wire.headers, ears, deps) : undefined

    let lost = false
    let closing: Promise<void> | undefined
    return {
      info,
      async request(call, signal) {
        const answer = await wire.ask(call, signal)
        lost ||= answer === 'lost'
        return answer
      },
      close() {
        stop?.()
        closing ??= lost ? Promise.resolve() : wire.end()
        return closing
      },
    }
  }
}
