/** The spec of a remote upstream, and the dependencies of its client. */
import type { Clock } from '../../../async.ts'
import type { HostGuard } from '../../../host-guard.ts'
import type { AnswerRoom } from '../../answer-room.ts'
import type { TokenSource } from './oauth.ts'

export type RemoteSpec = {
  url: string
  transport: 'streamable-http' | 'sse'
  /** Sent with every request; a function is called before each one, so that rotated secrets apply at once. */
  headers?: Headers | (() => Promise<Headers>)
  /** Certificates to trust instead of the usual ones, in PEM; asked before each new connection, so that rotated ones apply at once. */
  authority?: () => string
  /** With `authority`: the host in the certificate, if it is another than that of `url`. */
  certificateHost?: string
  /** Bearer tokens; a 401 renews the token once. */
  auth?: TokenSource
  /** `shared`: one session for all calls. `perClient`: one for each `client` key of a call. */
  sessions: 'shared' | 'perClient'
  /** With `perClient`: after this time without use, a session ends. Default: five minutes. */
  sessionIdleMs?: number
  /** The longest wait for the handshake. */
  startTimeoutMs: number
}

export type Headers = Readonly<Record<string, string>>

export type RemoteDeps = {
  clock: Clock
  /** Returns 0 to 1, for the jitter of reconnects; default Math.random. */
  random?: () => number
  /** Whether to ping an upstream after 30 s of silence. Default false: then only calls notice that it is down. */
  watchesLife?: boolean
  /** Absent: every address may be connected to. */
  guard?: HostGuard
  /** Shared by all upstreams of a process. Absent: the sum of the answers that are received at once has no limit. */
  room?: AnswerRoom
}
