/** The config of a router, the output of `resolve`: everything but the catalogs, and no secret's value. */

import type { AccessConfig } from './access-config.ts'

export type Profile = 'hierarchical' | 'search' | 'registry' | 'direct'

export type RouterConfig = {
  gateway: { name: string; namespace: string }
  profile: Profile
  /** Profiles served besides the default at /mcp/<profile>. */
  allowedProfiles: Profile[]
  /** Whether /servers/<name>/mcp is open. */
  exposeServers: boolean
  budget: { definitionTokens: number; activeTools: number; responseTokens: number }
  search: SearchConfig
  /** Who is admitted, who may use what, and how often. */
  access: AccessConfig
  /** Routers among which limits are divided. Absent: there is one. */
  routers?: number
  /** Sorted by name. */
  servers: RouterServer[]
}

/** How tools are found. */
export type SearchConfig = {
  /** auto: also by meaning, if there is an encoder. none: by words only. */
  semantic: 'auto' | 'none'
  /** An embeddings service to use instead of the embedded encoder. */
  embeddings?: { url: string; model: string; secret?: SecretKey }
}

export type Payloads = 'none' | 'redacted' | 'full'

export type RouterServer = {
  name: string
  namespace: string
  title?: string
  description?: string
  category?: string
  keywords: string[]
  /** The server's own transport, as shown to agents. */
  transport: 'stdio' | 'http' | 'sse'
  endpoint: Endpoint
  sessions: 'shared' | 'perClient'
  tools: ToolPolicy
  limits: ServerLimits
  /** `payloads`: the stricter of server and gateway. */
  logging: { requests: boolean; payloads: Payloads }
  status: ServerStatus
}

/** How the router reaches a server. `revision` changes whenever a new connection is needed. */
export type Endpoint =
  | {
      kind: 'http'
      url: string
      transport: 'streamable-http' | 'sse'
      revision: string
      /** Sent with every request, in the order of the manifest. */
      headers?: EndpointHeader[]
      /** The bearer token of the server's bridge. */
      bearer?: SecretKey
      /** OAuth client credentials for the upstream. */
      oauth?: EndpointOAuth
    }
  /** Connected by this process: `id` identifies it to the connector that the router was started with. */
  | { kind: 'local'; id: string; revision: string }
  /** In a sidecar: reached through the gateway that its catalog comes from. */
  | { kind: 'gateway'; revision: string }

/** A key of a Secret in the server's namespace: only the code that connects reads its value. */
export type SecretKey = { name: string; key: string; optional?: boolean }

export type EndpointHeader = { name: string } & ({ value: string } | { secret: SecretKey })

export type EndpointOAuth = {
  /** If absent, it is discovered from the upstream's metadata. */
  tokenUrl?: string
  clientId: string
  clientSecret: SecretKey
  scopes: string[]
  audience?: string
}

/** Glob patterns for the upstream's tool names (`*` matches any characters); deny takes precedence. */
export type ToolPolicy = {
  allow: string[]
  deny: string[]
  /** What happens to tools that changed after they were approved; absent: nothing. */
  pin?: 'Warn' | 'Hold'
  /** Whether the server's `readOnlyHint` counts. */
  trustHints?: boolean
  overrides: Record<string, ToolOverride>
}

export type ToolOverride = {
  description?: string
  /** o200k_base tokens of `description`; absent until counted. */
  descriptionTokens?: number
  keywords?: string[]
  category?: string
  /** Whether the tool only reads, whatever the server says. */
  readOnly?: boolean
}

export type ServerLimits = {
  callTimeoutMs: number
  startTimeoutMs: number
  concurrency: number
  maxResultBytes: number
}

export type ServerState =
  | 'ready'
  | 'starting'
  | 'asleep'
  | 'failed'
  | 'authRequired'
  | 'suspended'
  | 'notAccepted'

export type ServerStatus = {
  state: ServerState
  /** CamelCase, as in the resource's condition. */
  reason?: string
  /** A sentence for operators of the gateway, never with a secret. Agents see only the reason, since this may contain addresses. */
  message?: string
  /** Hidden from search and lists: failed for more than 30 s, authRequired, suspended, notAccepted. */
  hidden: boolean
}
