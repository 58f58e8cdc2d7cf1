/** One of several replicas that share a key: a real server of the router's front, with a small handler whose answers name the replica. */

import type { TestContext } from 'node:test'
import { type Clock, systemClock } from '../../core/async.ts'
import { OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { JsonObject } from '../../core/json.ts'
import { createLog } from '../../core/log.ts'
import type { McpResponse } from '../../core/mcp/protocol/json-rpc.ts'
import { createClients, type FrontClients } from '../../core/mcp/server/clients.ts'
import type { McpHandler, McpRequest } from '../../core/mcp/server/handler.ts'
import { createSessions } from '../../core/mcp/server/session-ids.ts'
import type { Subscription } from '../../core/mcp/upstream.ts'
import { createInternalCredentials } from '../../router/access/internal-credential.ts'
import { ownerAt } from '../../router/http/owner.ts'
import { serve } from '../../router/http/serve.ts'
import { freePort } from '../support/free-port.ts'

export type Replica = {
  url: string
  port: number
  clients: FrontClients
  /** What it was asked, oldest first. */
  seen: McpRequest[]
  subscribed: (Subscription & { signal: AbortSignal })[]
  /** Resolves with the next request for `tool`. */
  called(tool: string): Promise<McpRequest>
  close(drainMs?: number): Promise<void>
}

export type ReplicaOptions = {
  /** Default: 127.0.0.1. */
  host?: string
  port?: number
  key?: string
  sessions?: 'shared' | 'perClient'
  lingerMs?: number
  clock?: Clock
}

/** Long enough that some calls are always in flight. */
const NAP_MS = 5

export async function startReplica(t: TestContext, options: ReplicaOptions = {}): Promise<Replica> {
  const {
    host = '127.0.0.1',
    key = 'the key of all',
    port = await freePort(),
    lingerMs,
    clock = systemClock,
  } = options
  const owner = ownerAt(host, port)
  const sessions = createSessions({ key, owner, clock })
  const clients = createClients({ clock, signer: sessions.signer })
  const credentials = createInternalCredentials(key, clock)
  const { handler, ...watched } = createReplicaHandler(`${port}`)
  const log = createLog({ level: 'silent' })
  const config = configOf(options.sessions ?? 'shared')
  const shared = {
    handler,
    sessions,
    clients,
    owner,
    credentials,
    log,
    clock,
    lingerMs,
    config: () => config,
  }
  const ready = () => ({ ready: true })
  const server = await serve({ ...shared, host, port, allowedHosts: [], ready })
  const close = (drainMs = 0) => server.close(drainMs)
  t.after(() => close())
  return {
    ...watched,
    clients,
    port,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}/mcp`,
    close,
  }
}

function configOf(sessions: 'shared' | 'perClient'): RouterConfig {
  const server = { name: 'one', sessions } as RouterConfig['servers'][number]
  return {
    gateway: { name: 'tools', namespace: 'default' },
    profile: 'hierarchical',
    allowedProfiles: ['registry'],
    exposeServers: true,
    access: OPEN_ACCESS,
    budget: { definitionTokens: 5000, activeTools: 10, responseTokens: 1200 },
    search: { semantic: 'auto' },
    servers: [server],
  }
}

const CAPABILITIES: JsonObject = { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} }

function createReplicaHandler(name: string) {
  const seen: McpRequest[] = []
  const subscribed: (Subscription & { signal: AbortSignal })[] = []
  const waiting: { tool: string; resolve: (request: McpRequest) => void }[] = []
  const handler: McpHandler = {
    describe: () => ({ capabilities: CAPABILITIES, serverInfo: { name, version: '1' } }),
    listen: ({ signal }) => aborted(signal),
    async subscribe(_route, subscription, { signal }) {
      subscribed.push({ ...subscription, signal })
      return { result: {} }
    },
    async handle(request) {
      seen.push(request)
      const tool = request.params.name
      for (const one of waiting.filter(({ tool: wanted }) => wanted === tool)) {
        waiting.splice(waiting.indexOf(one), 1)
        one.resolve(request)
      }
      return tool === 'ask' ? askCaller(name, request) : callTool(name, request)
    },
  }
  const called = (tool: string) => new Promise<McpRequest>(resolve => waiting.push({ tool, resolve }))
  return { handler, seen, subscribed, called }
}

async function callTool(name: string, { params, caller: { signal } }: McpRequest): Promise<McpResponse> {
  if (params.name === 'hold') {
    await aborted(signal)
    return text(`${name} aborted`)
  }
  if (params.name === 'nap') await new Promise(resolve => setTimeout(resolve, NAP_MS))
  return text(name)
}

async function askCaller(name: string, { caller: { ask, signal } }: McpRequest): Promise<McpResponse> {
  const requestedSchema = { type: 'object', properties: {} }
  const params = { message: `${name} asks`, requestedSchema }
  const answer = await ask?.({ method: 'elicitation/create', params }, signal)
  return text(`${name} was told ${JSON.stringify(answer?.result ?? null)}`)
}

function text(value: string): McpResponse {
  return { result: { content: [{ type: 'text', text: value }] } }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve())
  })
}
