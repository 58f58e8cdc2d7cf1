/** Makes the caller of a request: how it is told and asked things depends on its era. */
import type { Ask, Caller, ClientLabel } from '../caller.ts'
import { isQuestion, missingCapabilities, unaskable } from '../protocol/capabilities.ts'
import type { Notification } from '../protocol/json-rpc.ts'
import { isWanted } from '../protocol/log-levels.ts'
import type { FrontClients } from './clients.ts'
import type { PostResponse } from './post-response.ts'
import type { InboundRequest } from './read-message.ts'
import type { ClientSession } from './session-ids.ts'

/** `session`: where the request named one, which only the 2025 era does; `headers`: to pass on. */
export function callerOf(
  clients: FrontClients,
  message: InboundRequest,
  session: ClientSession | undefined,
  headers: Caller['headers'],
  response: PostResponse,
): Caller {
  const { era } = message
  const isLegacy = era === 'legacy'
  const client = session?.client
  const capabilities = isLegacy ? session?.capabilities : message.capabilities
  const logLevel = isLegacy ? client && clients.levels.get(client) : message.logLevel
  return {
    client,
    label: isLegacy ? session?.label : labelOf(message.clientName),
    era,
    capabilities,
    headers,
    logLevel,
    signal: response.signal,
    // In the newer era questions are answers, which the held call gives.
    ask: isLegacy && capabilities && client ? askOn(clients, client, capabilities, response) : undefined,
    notify: notifierOf(response, era, logLevel),
  }
}

function labelOf(name: string | undefined): ClientLabel | undefined {
  return name === undefined ? undefined : { name }
}

/** Without a level a caller of the newer era wants no log messages at all. */
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

/** Asks on the stream that the caller waits on; meanwhile heartbeats show that it is alive. */
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
