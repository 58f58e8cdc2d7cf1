/** Creates the caller of a request; how it is notified and asked depends on its era. */
import type { Ask, Caller, ClientLabel } from '../caller.ts'
import { callerTokenOf } from '../caller-token.ts'
import type { Identity } from '../identity.ts'
import { isQuestion, missingCapabilities, unaskable } from '../protocol/capabilities.ts'
import type { Notification } from '../protocol/json-rpc.ts'
import { isWanted } from '../protocol/log-levels.ts'
import type { FrontClients } from './clients.ts'
import type { PostResponse } from './post-response.ts'
import type { InboundRequest } from './read-message.ts'
import type { ClientSession } from './session-ids.ts'

/**
 * `session`: the one that the request names, only in the 2025 era; `headers`: those to forward; `authorization`: the header from which
 * `identity` was derived.
 */
export function callerOf(
  clients: FrontClients,
  message: InboundRequest,
  session: ClientSession | undefined,
  headers: Caller['headers'],
  identity: Identity,
  authorization: string | undefined,
  response: PostResponse,
): Caller {
  const { era } = message
  const isLegacy = era === 'legacy'
  const client = session?.client
  const capabilities = isLegacy ? session?.capabilities : message.capabilities
  const logLevel = isLegacy ? client && clients.levels.get(client) : message.logLevel
  return {
    identity,
    token: identity.kind === 'user' ? callerTokenOf(authorization) : undefined,
    address: response.address,
    client,
    label: labelled(isLegacy ? session?.label : labelOf(message.clientName), identity),
    era,
    capabilities,
    headers,
    logLevel,
    signal: response.signal,
    // In the 2026 era a question is the reply `input_required`, and `HeldCall` sets `ask`.
    ask: isLegacy && capabilities && client ? askOn(clients, client, capabilities, response) : undefined,
    notify: notifierOf(response, era, logLevel),
  }
}

function labelled(label: ClientLabel | undefined, { id }: Identity): ClientLabel | undefined {
  return id === '' ? label : { ...label, caller: id }
}

function labelOf(name: string | undefined): ClientLabel | undefined {
  return name === undefined ? undefined : { name }
}

/** A caller of the 2026 era that sets no level gets no log messages. */
function notifierOf(
  response: PostResponse,
  era: Caller['era'],
  logLevel: string | undefined,
): (notification: Notification) => void {
  if (logLevel === undefined && era === 'legacy') return notification => response.notify(notification)
  return notification => {
    const wanted =
      logLevel === undefined
        ? notification.method !== 'notifications/message'
        : isWanted(notification, logLevel)
    if (wanted) response.notify(notification)
  }
}

/** Asks on the response stream of the caller's request, with heartbeats so that proxies keep it open. */
function askOn(
  { asks, heartbeats }: FrontClients,
  client: string,
  capabilities: Caller['capabilities'],
  response: PostResponse,
): Ask {
  return async (question, signal) => {
    if (!isQuestion(question.method) || missingCapabilities(question, capabilities))
      return { error: unaskable(question) }
    const stopBeating = heartbeats.add(() => response.beat())
    try {
      return await asks.ask(client, question, signal, message => response.send(message))
    } finally {
      stopBeating()
    }
  }
}
