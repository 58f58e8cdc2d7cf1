/** A real HTTP server of the front whose handler asks its callers, and records what it gets: for tests of questions and streams. */

import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { delay, systemClock } from '../../core/async.ts'
import { Fault } from '../../core/errors.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { createLog } from '../../core/log.ts'
import type { Ask, Caller } from '../../core/mcp/caller.ts'
import { ANONYMOUS } from '../../core/mcp/identity.ts'
import type { McpResponse, Notification, ServerRequest } from '../../core/mcp/protocol/json-rpc.ts'
import { createClients, type FrontClients } from '../../core/mcp/server/clients.ts'
import { createEndpoint } from '../../core/mcp/server/endpoint.ts'
import type { Listening, McpHandler, McpRequest, McpRoute } from '../../core/mcp/server/handler.ts'
import { GATHER_MS } from '../../core/mcp/server/held-call.ts'
import { InFlight } from '../../core/mcp/server/in-flight.ts'
import { createSessions, type SignedSessions } from '../../core/mcp/server/session-ids.ts'
import type { Subscription } from '../../core/mcp/upstream.ts'
import { createManualClock, type ManualClock } from '../support/manual-clock.ts'

export type AskingFront = {
  url: string
  clock: ManualClock
  clients: FrontClients
  sessions: SignedSessions
  inFlight: InFlight
  /** Requests as the handler saw them. */
  seen: McpRequest[]
  /** How calls ended that were aborted, or whose questions failed. */
  ended: Fault[]
  /** Those who listen for changed lists, and what was subscribed to. */
  listening: Listening[]
  subscribed: (Subscription & { signal: AbortSignal })[]
  /** Notifications of clients. */
  notified: { client: string; notification: Notification }[]
  /** Bodies of cancellations of unknown requests. */
  strays: string[]
  end(): void
  drain(limitMs: number): Promise<void>
}

const ROUTE: McpRoute = { kind: 'server', server: 'asking' }
const CAPABILITIES: JsonObject = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  logging: {},
}
/** Cannot be subscribed to. */
export const DEAF_URI = 'note://deaf'
/** A subscription to it takes this long. */
export const SLOW_URI = 'note://slow'
export const SLOW_MS = 1_000
/** A notification for which the handler throws. */
export const UNLUCKY = 'notifications/unlucky'

type FrontOptions = {
  key?: string
  owner?: string
  capabilities?: JsonObject
  openToAll?: boolean
  maxStreams?: number
  /** Whether callers have the header `x-caller` as the id of their identity. Otherwise, all are anonymous. */
  knowsCallers?: boolean
}

/** Listens on a free port until the test ends; the test advances its clock. */
export async function startAskingFront(t: TestContext, options: FrontOptions = {}): Promise<AskingFront> {
  const { key = 'key', owner = 'one', capabilities = CAPABILITIES, openToAll } = options
  const clock = createManualClock(systemClock.now())
  const sessions = createSessions({ key, owner, clock })
  const clients = createClients({
    clock,
    signer: sessions.signer,
    maxStreams: options.maxStreams,
    distinguishesCallers: () => options.knowsCallers ?? false,
  })
  const inFlight = new InFlight()
  const handler = createAskingHandler(capabilities, clock)
  const strays: string[] = []
  const endpoint = createEndpoint({
    ...{ handler, sessions, clients, inFlight, openToAll, log: createLog({ level: 'silent' }) },
    onStrayCancel: (_route, _headers, body) => strays.push(body),
  })
  const server = createServer(async (request, raw) => {
    const { method, headers } = request
    const id = (options.knowsCallers && headers['x-caller']?.toString()) || ''
    const identity = { ...ANONYMOUS, id }
    if (method === 'GET') endpoint.get(ROUTE, headers, identity, raw)
    else if (method === 'DELETE') endpoint.remove(headers, identity, raw)
    else endpoint.post(ROUTE, headers, await bodyOf(request), identity, raw)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    endpoint.end()
    server.close()
    server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const drain = (limitMs: number) => inFlight.drain(limitMs, clock)
  return { ...handler, url, clock, clients, sessions, inFlight, strays, drain, end: endpoint.end }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  return body
}

type Recorded = Pick<AskingFront, 'seen' | 'ended' | 'listening' | 'subscribed' | 'notified'>

/** Ends the time in which questions are gathered once all of a turn are asked. */
function createAskingHandler(capabilities: JsonObject, clock: ManualClock): McpHandler & Recorded {
  const gathered = () => clock.advance(GATHER_MS)
  const seen: McpRequest[] = []
  const ended: Fault[] = []
  const listening: Listening[] = []
  const subscribed: Recorded['subscribed'] = []
  const notified: Recorded['notified'] = []
  const tools: typeof TOOLS = { ...TOOLS, visit: visitFirst() }
  return {
    ...{ seen, ended, listening, subscribed, notified },
    describe: () => ({
      capabilities,
      serverInfo: { name: 'asking', version: '1' },
      meta: { 'portolan.dev/protocol': '2025-06-18' },
    }),
    tell(client, notification) {
      if (notification.method === UNLUCKY) throw new Error('It went wrong')
      notified.push({ client, notification })
    },
    async listen(one) {
      listening.push(one)
      await new Promise<void>(resolve => one.signal.addEventListener('abort', () => resolve()))
    },
    async subscribe(_route, subscription, { signal }) {
      if (subscription.uri === DEAF_URI) return { error: { code: -32601, message: 'This one tells nothing' } }
      subscribed.push({ ...subscription, signal })
      if (subscription.uri === SLOW_URI) await delay(clock, SLOW_MS)
      return { result: {} }
    },
    async handle(request) {
      seen.push(request)
      const { signal } = request.caller
      signal.addEventListener('abort', () => ended.push(signal.reason))
      if (request.method === 'tools/list') return { result: { tools: [] } }
      const { name, arguments: args = {} } = request.params
      const tool = tools[String(name)]
      if (!tool || !isObject(args)) return { error: { code: -32602, message: `Unknown tool: ${name}` } }
      try {
        return await tool(request, args, {
          ...request.caller,
          ask: request.caller.ask && askAnd(gathered, request.caller.ask),
        })
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        ended.push(error)
        return { error: { code: -32000, message: error.message } }
      }
    },
  }
}

function askAnd(then: () => void, ask: Ask): Ask {
  return (question, signal) => {
    const answer = ask(question, signal)
    setImmediate(then)
    return answer
  }
}

type Tool = (request: McpRequest, args: JsonObject, caller: Caller) => Promise<McpResponse>

const TOOLS: { [name: string]: Tool | undefined } = {
  /** Asks all at once, as a server of the 2025 era does, and returns the answers. */
  async ask(_request, { questions }, { ask, signal }) {
    const answers = (questions as ServerRequest[]).map(question => ask?.(question, signal))
    return text(await Promise.all(answers))
  },
  /** Asks one question with a message of this length. */
  async askLong(_request, { characters }, { ask, signal }) {
    const params = {
      message: 'x'.repeat(Number(characters)),
      requestedSchema: { type: 'object', properties: {} },
    }
    return text([await ask?.({ method: 'elicitation/create', params }, signal)])
  },
  /** Asks one after the other, and sends notifications in between. */
  async askInTurn({ params }, { questions }, { ask, signal, notify }) {
    const { progressToken = null } = isObject(params._meta) ? params._meta : {}
    const answers: unknown[] = []
    const notifyProgress = () => {
      const progress = answers.length
      if (progressToken !== null)
        notify?.({ method: 'notifications/progress', params: { progressToken, progress } })
      notify?.({ method: 'notifications/message', params: { level: 'info', data: progress } })
    }
    for (const question of questions as ServerRequest[]) {
      notifyProgress()
      answers.push(await ask?.(question, signal))
    }
    notifyProgress()
    return text(answers)
  },
  /** Asks, withdraws the questions after a moment, and answers the call. */
  async askAndGo(_request, { questions }, { ask, signal }) {
    const stop = new AbortController()
    const answers = (questions as ServerRequest[]).map(async question => {
      await ask?.(question, AbortSignal.any([signal, stop.signal])).catch(() => {})
    })
    await new Promise(resolve => setTimeout(resolve, 20))
    stop.abort(new Fault('cancelled', 'The server does not want to know any more.'))
    await Promise.all(answers)
    return text('went on')
  },
  /** Wants its questions answered as a server of the 2026 era does, `rounds` times. */
  async input({ params: { inputResponses, requestState } }, { questions, rounds = 1 }) {
    const round = Number(requestState ?? 0)
    if (round >= Number(rounds)) return text({ inputResponses, requestState })
    const inputRequests = Object.fromEntries((questions as JsonObject[]).map((one, at) => [`q${at}`, one]))
    return { result: { resultType: 'input_required', inputRequests, requestState: `${round + 1}` } }
  },
  /** Asks, sends a notification when it was answered, and waits until it is aborted. */
  async askAndHang(_request, { questions }, { ask, signal, notify }) {
    for (const question of questions as ServerRequest[]) await ask?.(question, signal)
    notify?.({ method: 'notifications/hanging' })
    await new Promise(resolve => signal.addEventListener('abort', resolve))
    return text('aborted')
  },
  /** Asks for a visit to a page, and sends a notification of its end in the middle of the call. */
  async askForVisit(_request, { question }, { ask, signal, notify }) {
    const answer = await ask?.(question as ServerRequest, signal)
    notify?.({ method: 'notifications/elicitation/complete', params: { elicitationId: 'login' } })
    return text(answer)
  },
  async log(_request, _args, { notify, logLevel }) {
    for (const level of ['debug', 'info', 'warning', 'error'])
      notify?.({ method: 'notifications/message', params: { level, data: level } })
    return text(logLevel ?? null)
  },
  async echo({ params }, _args, { headers }) {
    return text({ params, headers })
  },
}

/** Wants its user to visit a page before its first call, and says so with the error of a server of the 2025 era. */
function visitFirst(): Tool {
  let visited = false
  return async ({ params }) => {
    if (visited) return text({ params })
    visited = true
    const page = { mode: 'url', elicitationId: 'login', url: 'https://example.com/', message: 'Log in' }
    return { error: { code: -32042, message: 'Log in first', data: { elicitations: [page] } } }
  }
}

function text(value: unknown): McpResponse {
  return { result: { content: [{ type: 'text', text: JSON.stringify(value) }] } }
}
