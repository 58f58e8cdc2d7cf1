/** The state of an endpoint's clients, and how to notify and ask them between their requests, on their open streams. */
import { randomBytes } from 'node:crypto'
import { type Clock, systemClock } from '../../async.ts'
import { BoundedMap } from '../../bounded-map.ts'
import type { Ask } from '../caller.ts'
import { isQuestion, missingCapabilities } from '../protocol/capabilities.ts'
import type { Notification, ServerRequest } from '../protocol/json-rpc.ts'
import { isWanted } from '../protocol/log-levels.ts'
import { sealingAsk, sealMessage, taskOf } from './bound.ts'
import { ClientRequests } from './client-requests.ts'
import { Heartbeats } from './heartbeats.ts'
import { HeldCalls } from './held-calls.ts'
import { createSigner, type Signer } from './signed.ts'
import { Streams } from './streams.ts'
import { Subscriptions } from './subscriptions.ts'

/** Number of log levels remembered. */
const MAX_CLIENTS = 10_000

export interface Clients {
  /** Sends a notification on the client's newest stream, unless its log level excludes it; false if no stream is open. */
  notify(client: string, notification: Notification): boolean
  /** A function that asks the client this question; undefined if no stream is open, or the client did not declare the capability. */
  asking(client: string, question: ServerRequest): Ask | undefined
}

/** All state between requests. Create it first, then pass it to the endpoint and to all that notify clients. */
export type FrontClients = Clients & {
  readonly clock: Clock
  readonly signer: Signer
  /** Whether callers are distinguished by credentials; `requestState` and task ids are then bound to their callers. */
  readonly distinguishesCallers: () => boolean
  readonly heartbeats: Heartbeats
  readonly streams: Streams
  readonly asks: ClientRequests
  readonly held: HeldCalls
  /** Each session's minimum log level (logging/setLevel, 2025 era). A session whose level was evicted gets every message. */
  readonly levels: BoundedMap<string>
  readonly subscriptions: Subscriptions
  /** Aborts when the shutdown begins, so that it does not wait for listening clients. */
  readonly ending: AbortSignal
  /** Deletes the state of a client whose session ended. */
  end(client: string): void
  /** Ends all streams, subscriptions and held calls, which could otherwise stay open without limit. Idempotent. */
  endAll(): void
}

export type ClientsOptions = {
  clock?: Clock
  /** Absent: creates a key of its own, which no other replica can verify. */
  signer?: Signer
  /** Default: never. */
  distinguishesCallers?: () => boolean
  /** Open streams at once; default 4,096. */
  maxStreams?: number
}

/** The state of one endpoint, or of several that share their sessions. */
export function createClients(options: ClientsOptions = {}): FrontClients {
  const { clock = systemClock, distinguishesCallers = () => false, maxStreams } = options
  const { signer = createSigner({ key: randomBytes(32), owner: 'local', clock }) } = options
  const heartbeats = new Heartbeats(clock)
  const streams = new Streams(heartbeats, maxStreams, distinguishesCallers)
  const asks = new ClientRequests(clock, signer)
  const held = new HeldCalls(clock, signer, distinguishesCallers)
  const levels = new BoundedMap<string>(MAX_CLIENTS)
  const hasStream = (client: string) => streams.newest(client) !== undefined
  const subscriptions = new Subscriptions(clock, hasStream, distinguishesCallers)
  const ending = new AbortController()
  return {
    ...{ clock, signer, distinguishesCallers, heartbeats, streams, asks, held, levels, subscriptions },
    ending: ending.signal,
    notify(client, notification) {
      const least = levels.get(client)
      if (least !== undefined && !isWanted(notification, least)) return true
      const stream = streams.newest(client)
      if (!stream || !distinguishesCallers()) return stream?.send(notification) ?? false
      return stream.send(sealMessage(notification, signer, taskOf(stream.place, stream.caller)))
    },
    asking(client, question) {
      const stream = streams.newest(client)
      const canAsk = isQuestion(question.method) && !missingCapabilities(question, stream?.capabilities)
      if (!stream || !canAsk) return undefined
      const ask: Ask = (asked, signal) => asks.ask(client, asked, signal, message => stream.send(message))
      return distinguishesCallers() ? sealingAsk(ask, signer, taskOf(stream.place, stream.caller)) : ask
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
