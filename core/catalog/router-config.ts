/** The config of a router, the output of `resolve`: everything but the catalogs, and no values of secrets. */

import type { LabelSelector } from '../../crds/core-v1.ts'
import type { JsonObject } from '../json.ts'
import type { AccessConfig } from './access-config.ts'

export type Profile = 'hierarchical' | 'search' | 'registry' | 'direct' | 'code'

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
  /** What scripts of agents may do. Absent: agents cannot run scripts. */
  code?: CodeConfig
  /** Reviewed scripts that are offered as tools, sorted by name. Absent: there are none. */
  scripts?: RouterScript[]
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

/** What scripts of agents may do. `tools`: glob patterns of tool paths; `ask`: those of tools that need permission, whatever their hints say. */
export type CodeConfig = {
  tools: { allow: string[]; deny: string[]; readOnly: boolean }
  /** What happens to calls of tools with `destructiveHint`. */
  destructive: 'Ask' | 'Allow' | 'Refuse'
  ask: string[]
  /** A larger result is shown in part. */
  resultTokens: number
  /** Whether declarations show what results looked like. */
  learnTypes: boolean
  limits: CodeLimits
}

/** Limits of each script, unless they say something else. */
export type CodeLimits = {
  sourceBytes: number
  /** For the whole script, without the time in which its caller answers questions. */
  timeoutMs: number
  /** For the time in which it computes, and does not wait for calls. */
  sandboxMs: number
  memoryBytes: number
  calls: number
  /** Calls of a script at once. */
  concurrency: number
  /** For each result of a call, and for the result of the script. All results of its calls together may have eight times as much. */
  resultBytes: number
  /** Scripts at once, of each router. */
  scripts: number
  scriptsPerClient: number
}

/** A reviewed script: a tool of the server SCRIPTS. */
export type RouterScript = {
  name: string
  title?: string
  description: string
  category?: string
  keywords: string[]
  inputSchema: JsonObject
  /** It may call only tools that are known to only read. */
  readOnly: boolean
  code: string
}

/** The name of the server that reviewed scripts are tools of. */
export const SCRIPTS = 'scripts'

export type Payloads = 'none' | 'redacted' | 'full'

export type RouterServer = {
  name: string
  namespace: string
  title?: string
  description?: string
  category?: string
  keywords: string[]
  /** The server's own transport, as shown to agents. `script`: its tools are scripts. */
  transport: 'stdio' | 'http' | 'sse' | 'script'
  endpoint: Endpoint
  sessions: 'shared' | 'perClient' | 'perUser'
  /** With `sessions: perClient` and a bridge: after this time without use, the bridge ends the session of a client. */
  sessionIdleMs?: number
  /** With `sessions: perUser`. */
  users?: ServerUsers
  tools: ToolPolicy
  limits: ServerLimits
  /** `payloads`: the stricter of server and gateway. */
  logging: { requests: boolean; payloads: Payloads }
  status: ServerStatus
  /** Absent: it never sleeps. */
  sleep?: ServerSleep
}

/** `problem`: why the last attempt to wake it failed, for agents. */
export type ServerSleep = { asleep: boolean; problem?: string }

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
      /** The certificates that the server's bridge may have, in PEM; absent: it is reached without TLS. */
      authority?: SecretKey
      /** OAuth client credentials for the upstream. */
      oauth?: EndpointOAuth
      /** How the token of a user is exchanged for one of the upstream; `oauth` is then used to read the lists. */
      exchange?: EndpointTokenExchange
      /** How users log in to the upstream. */
      login?: EndpointLogin
      /** Which headers carry the Secret of a user. */
      userHeaders?: UserHeader[]
      /** Each user has a pod; this endpoint is that of the pod that the lists are read from. */
      podPerUser?: true
      /** Not in configs: routers make such an endpoint for each user with a pod. */
      instance?: Instance
    }
  /** Connected by this process: `id` identifies it to the connector that the router was started with. */
  | { kind: 'local'; id: string; revision: string }
  /** In a sidecar: reached through the gateway that its catalog comes from. */
  | { kind: 'gateway'; revision: string }
  /** Not a server: its tools are reviewed scripts, which the router runs. */
  | { kind: 'scripts'; revision: string }

/**
 * `user`: the user's digest. `revision`: of what the pod must have been made with. `certificateHost`: with TLS, the host in its certificate, which all
 * pods of the server share.
 */
export type Instance = { user: string; revision: string; certificateHost?: string }

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

/** A header with the value at `key` of the user's Secret, after `prefix`. */
export type UserHeader = { name: string; key: string; prefix: string }

/**
 * Absent `clientId`: the client registers itself. Absent `scopes`: those that the upstream, or the gateway, asks for. `issuer`: the only authorization
 * server to which the upstream may send users.
 */
export type EndpointLogin = { scopes: string[]; issuer?: string; clientId?: string; clientSecret?: SecretKey }

/** OAuth 2.0 Token Exchange (RFC 8693). */
export type EndpointTokenExchange = EndpointOAuth & { tokenUrl: string }

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

export type ServerUsers = {
  /** Users at once, at each router; with a pod for each user, at all routers together. */
  max: number
  /** After this time without a call and without a subscription, a user's upstream is closed. */
  idleAfterMs: number
  /** Absent: users need no credentials of their own. */
  credentials?: UserCredentials
  /** Lists are read for each user too. */
  ownLists?: true
  /** By the id of the user: why there is no pod for them. */
  problems?: Record<string, UserProblem>
}

/** `message` is for agents. `isFull`: as many users as `max` have a pod. */
export type UserProblem = { message: string; isFull?: true }

export type UserCredentials =
  | { kind: 'secrets'; selector: LabelSelector; secrets: UserSecret[] }
  | { kind: 'tokenExchange' }

/** The Secret of one user. `revision` changes with its values. `lacks`: a required key that is missing. `name`: of the Secret, in clusters. */
export type UserSecret = { subject: string; revision: string; lacks?: string; name?: string }

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
