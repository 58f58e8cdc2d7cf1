/** Creates the upstream of a remote server, by its transport. */
import type { Upstream } from '../upstream.ts'
import type { RemoteDeps, RemoteSpec } from './http/spec.ts'
import { createSseUpstream } from './http/sse.ts'
import { createHttpUpstream } from './http/streamable.ts'

/** An upstream behind a URL. Nothing is sent before the first `connect` or `request`. */
export function connectRemote(spec: RemoteSpec, deps: RemoteDeps): Upstream {
  return spec.transport === 'sse' ? createSseUpstream(spec, deps) : createHttpUpstream(spec, deps)
}
