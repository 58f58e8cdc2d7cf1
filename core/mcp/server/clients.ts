/** Clients with a session, as who serves them reaches them between their requests: on the streams that they keep open. */
import { randomBytes } from 'node:crypto'
import { type Clock, systemClock } from '../../async.ts'
import { BoundedMap } from '../../bounded-map.ts'
import type { Ask } from '../caller.ts'
import { isQuestion, missingCapabilities, unaskable } from '../protocol/capabilities.ts'
import type { Notification } from '../protocol/json-rpc.ts'
import { isWanted } from '../protocol/log-levels.ts'
import { ClientRequests } from './asks.ts'
import { Heartbeats } from './heartbeats.ts'
import { HeldCalls } from './held-calls.ts'
import { createSigner, type Signer } from './signed.ts'
import { type Stream, Streams } from './streams.ts'
import { Subscriptions } from './subscriptions.ts'

/** Log levels that are kept. */
const MAX_CLIENTS = 10_000

export interface Clients {
  /** Sends a notification on one of the client's streams, unless its log level leaves it out; false where it has none open. */
  notify(client: string, notification: Notification): boolean
  /** How to ask the client for something; undefined where it has no stream open, or declared that it cannot be asked for this. */
  asking(client: string, method: string): Ask | undefined
}

/** All that a front keeps between requests: it is made first, and given to the endpoint and to whoever tells clients something. */
export type FrontClients = Clients & {
  readonly clock: Clock
  readonly signer: Signer
  readonly heartbeats: Heartbeats
  readonly streams: Streams
  readonly asks: ClientRequests
  readonly held: HeldCalls
  /** The least level that each client with a session asked for (logging/setLevel, 2025 era); one that is forgotten gets every message. */
  readonly levels: BoundedMap<string>
  readonly subscriptions: Subscriptions
  /** Aborts when the end begins: whoever listens is not waited for. */
  readonly ending: AbortSignal
  /** Ends all that is kept for a client whose session ended. */
  end(client: string): void
  /** Ends streams, whoever listens, and held calls: nobody is waited for who may stay forever. Idempotent. */
  endAll(): void
}

export type ClientsOptions = {
  clock?: Clock
  /** Absent: signs with a key of its own, where no replica has to know what it signed. */
  signer?: Signer
  /** Streams at once; default 4,096. */
  maxStreams?: number
}

/** What one endpoint keeps; several share it where their sessions are the same. */
export function createClients(options: ClientsOptions = {}): FrontClients {
  const { clock = systemClock, maxStreams } = options
  const { signer = createSigner({ key: randomBytes(32), owner: 'local', clock }) } = options
  const heartbeats = new Heartbeats(clock)
  const streams = new Streams(heartbeats, maxStreams)
  const asks = new ClientRequests(clock, signer)
  const held = new HeldCalls(clock, signer)
  const levels = new BoundedMap<string>(MAX_CLIENTS)
  const subscriptions = new Subscriptions(clock, client => streams.newest(client) !== undefined)
  const ending = new AbortController()
  return {
    ...{ clock, signer, heartbeats, streams, asks, held, levels, subscriptions },
    ending: ending.signal,
    notify(client, notification) {
      const least = levels.get(client)
      if (least !== undefined && !isWanted(notification, least)) return true
      return streams.newest(client)?.send(notification) ?? false
    },
    asking(client, method) {
      const stream = streams.newest(client)
      const canAsk = isQuestion(method) && !missingCapabilities({ method }, stream?.capabilities)
      return stream && canAsk ? askOn(asks, client, stream) : undefined
    },
    end(client) {
      subscriptions.end(client)
      asks.end(client)
      levels.delete(client)
      streams.end(client)
    },
    endAll() {
      ending.abort()
      held.endAll()
      streams.endAll()
      subscriptions.endAll()
    },
  }
}

function askOn(asks: ClientRequests, client: string, stream: Stream): Ask {
  return async (question, signal) =>
    missingCapabilities(question, stream.capabilities)
      ? { error: unaskable(question) }
      : asks.ask(client, question, signal, message => stream.send(message))
}
