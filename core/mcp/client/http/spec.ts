/** What is needed to reach an upstream over the network: the spec of a remote server and its outside dependencies. */
import type { Clock } from '../../../async.ts'
import type { TokenSource } from './oauth.ts'

export type RemoteSpec = {
  url: string
  transport: 'streamable-http' | 'sse'
  /** Sent with every request; a function is asked before each one, so that rotated secrets are used at once. */
  headers?: Headers | (() => Promise<Headers>)
  /** Bearer tokens; a 401 renews the token once. */
  auth?: TokenSource
  /** `shared`: one session for all calls. `perClient`: one for each `client` key of a call. */
  sessions: 'shared' | 'perClient'
  /** The longest wait for the handshake. */
  startTimeoutMs: number
}

export type Headers = Readonly<Record<string, string>>

export type RemoteDeps = {
  clock: Clock
  /** 0 to 1, spreads reconnects; default Math.random. */
  random?: () => number
  /** Whether an upstream that was silent for half a minute is asked for a sign of life. Default false: those who call it notice. */
  watchesLife?: boolean
}
