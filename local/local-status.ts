/** The status of a local gateway for /debug/status and the command line. Contains no secrets and no values of env. Pure. */

import type { HiddenText } from '../core/catalog/hidden-text.ts'
import { cannotAskQuestions, NOT_OFFERED } from '../core/catalog/not-offered.ts'
import type { Profile, RouterConfig, RouterServer } from '../core/catalog/router-config.ts'
import type { ServerCatalog } from '../core/catalog/server-catalog.ts'
import { changesForStatus, type ToolChanges } from '../core/catalog/tool-changes.ts'
import type { Problem } from '../core/errors.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { sum } from '../core/sum.ts'
import type { ToolRoute } from '../router/catalog/server-part.ts'
import type { SearchStatus } from '../router/semantic/semantic.ts'
import type { TokenUses } from '../router/token-use.ts'
import type { Observed } from './server-discovery.ts'

export type ServerStatusLine = {
  name: string
  title?: string
  transport: RouterServer['transport']
  state: RouterServer['status']['state']
  reason?: string
  message?: string
  hidden: boolean
  /** Offered tools: valid and allowed by the policy. */
  tools: number
  /** Tokens (o200k_base) of their definitions, as if an agent used the server directly. */
  tokens: number
  invalid: { name?: string; reason: string }[]
  resources: number
  resourceTemplates: number
  prompts: number
  incomplete: ServerCatalog['incomplete']
  /** The negotiated MCP revision. */
  protocol?: string
  /** A sentence about client features that the server cannot use, and why. */
  notOffered?: string
  /** Tools that changed since they were approved: reported, or held back. */
  changes?: ToolChanges & { pin?: 'Warn' | 'Hold' }
  /** Text that hides characters. */
  hiddenText?: HiddenText
  discovery: {
    /** ISO 8601. */
    at?: string
    /** Whether the list is from the cache: an earlier process read it, and this one has not read it yet. */
    cached: boolean
    failure?: { reason: string; message: string }
  }
  /** Largest first. */
  toolTokens: { name: string; tokens: number }[]
}

export type LocalStatus = {
  gateway: { name: string; namespace: string; profile: string }
  ready: boolean
  servers: ServerStatusLine[]
  tools: { total: number; byTransport: Record<string, number> }
  tokens: {
    /** Tokens of all visible tools, as if an agent used the servers directly. */
    direct: number
    /** Tokens of the gateway's tools/list; absent until counted. */
    exposed?: number
    /** The same for every served profile. */
    profiles: Partial<Record<Profile, number>>
    /** Tokens counted since the start. */
    sinceStart: TokenUses
  }
  /** State of semantic search. */
  search: SearchStatus
  problems: Problem[]
}

export function statusOf(facts: {
  config: RouterConfig
  /** The served catalogs, by server. */
  catalogs: ReadonlyMap<string, ServerCatalog>
  /** The served tools as agents see them, by server. */
  offered: ReadonlyMap<string, readonly ToolRoute[]>
  observed: (server: string) => Observed | undefined
  ready: boolean
  profileTokens: LocalStatus['tokens']['profiles']
  usedTokens: TokenUses
  search: SearchStatus
  problems: Problem[]
}): LocalStatus {
  const { config, catalogs, offered, observed, ready, profileTokens, usedTokens, search, problems } = facts
  const servers = config.servers.map(server =>
    serverLine(server, offered.get(server.name) ?? [], catalogs.get(server.name), observed(server.name)),
  )
  const shown = servers.filter(({ hidden }) => !hidden)
  const byTransport: Record<string, number> = {}
  for (const { transport, tools } of shown) byTransport[transport] = (byTransport[transport] ?? 0) + tools
  return {
    gateway: { ...config.gateway, profile: config.profile },
    ready,
    servers,
    tools: { total: sum(shown.map(({ tools }) => tools)), byTransport },
    tokens: {
      direct: sum(shown.map(({ tokens }) => tokens)),
      exposed: profileTokens[config.profile],
      profiles: profileTokens,
      sinceStart: usedTokens,
    },
    search,
    problems,
  }
}

/** Converts the status to plain JSON; drops undefined fields. */
export function plainStatus(status: LocalStatus): JsonObject {
  const plain: unknown = JSON.parse(JSON.stringify(status))
  return isObject(plain) ? plain : {}
}

function serverLine(
  server: RouterServer,
  tools: readonly ToolRoute[],
  catalog: ServerCatalog | undefined,
  observed: Observed | undefined,
): ServerStatusLine {
  const { state, reason, message, hidden } = server.status
  return {
    name: server.name,
    title: server.title,
    transport: server.transport,
    state,
    reason,
    message,
    hidden,
    tools: tools.length,
    tokens: sum(tools.map(({ tokens }) => tokens)),
    invalid: catalog?.invalid ?? [],
    resources: catalog?.resources.length ?? 0,
    resourceTemplates: catalog?.resourceTemplates.length ?? 0,
    prompts: catalog?.prompts.length ?? 0,
    incomplete: catalog?.incomplete ?? [],
    protocol: catalog?.protocol,
    notOffered: catalog && cannotAskQuestions(server, catalog.protocol) ? NOT_OFFERED : undefined,
    changes: observed?.changes && { pin: server.tools.pin, ...changesForStatus(observed.changes) },
    hiddenText: observed?.hidden,
    discovery: {
      at: observed?.discoveredAt === undefined ? undefined : new Date(observed.discoveredAt).toISOString(),
      cached: observed?.cached ?? false,
      failure: observed?.failure && { reason: observed.failure.reason, message: observed.failure.message },
    },
    toolTokens: tools
      .map(({ tool, tokens }) => ({ name: tool, tokens }))
      .sort((a, b) => b.tokens - a.tokens || (a.name < b.name ? -1 : 1)),
  }
}
