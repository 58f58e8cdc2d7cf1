/** The part of a router config that says who is admitted, who may use what, how often, and what is recorded of it. It has no values of secrets. */
import type { JsonObject } from '../json.ts'
import type { EndpointLogin } from './router-config.ts'

export type AccessConfig = {
  /** The URL at which callers reach the gateway, without /mcp and without a slash at the end. */
  url?: string
  /** Absent: every caller is anonymous, and all are admitted. */
  auth?: AuthConfig
  /** A caller gets what all its rules grant together. Empty: everyone who is admitted may use everything. */
  rules: AccessRule[]
  /** The most that any caller gets, whatever the rules grant. */
  tools: ToolGrant
  rateLimits: RateLimit[]
  /** What is written to the audit stream; absent: nothing. */
  audit?: AuditConfig
}

export type AuditConfig = {
  events: AuditEvents[]
  arguments: AuditArguments
  sink: AuditSink
  onOverflow: 'Drop' | 'Refuse'
}

export type AuditEvents = 'Calls' | 'Denials' | 'Logins'
export type AuditArguments = 'None' | 'Names' | 'Digest' | 'Redacted' | 'Full'
export type AuditSink = 'Stdout' | 'Stderr'

export type AuthConfig = {
  anonymous: boolean
  /** With `reviewMs`, a TokenReview must also have accepted the token, at most `reviewMs` milliseconds ago. */
  serviceAccounts?: { audiences: string[]; namespaces: string[]; reviewMs?: number }
  jwt: JwtIssuerConfig[]
  /** The Secret with the named tokens. */
  tokens?: { secretName: string }
  revoked: Revocation[]
}

export type JwtIssuerConfig = {
  name: string
  /** Equal to the claim `iss`. */
  issuer: string
  audiences: string[]
  /** The JSON Web Key Set as last fetched; absent: not available yet, or too old. */
  jwks?: JsonObject
  /** Where a key set is fetched: a fixed URL, or by discovery from the issuer. Absent: `jwks` alone, from a ConfigMap. */
  keysFrom?: { uri: string } | { discovery: true }
  /** PEM certificates to trust for these fetches, instead of the public ones. */
  ca?: string
  usernameClaim: string
  groupsClaim: string
  requiredScopes: string[]
  clockSkewMs: number
  maxLifetimeMs: number
  /** The OAuth client with which browsers log in, to find out who their users are. Absent: one that registers itself. */
  login?: EndpointLogin
}

/** Tokens that are refused although they have not expired, with `issuer` only those of that issuer. `beforeMs`: those issued before this time. */
export type Revocation = { issuer?: string } & ({ subject: string } | { jti: string } | { beforeMs: number })

export type AccessRule = {
  name: string
  /** A caller has to match one of them. Empty: everyone who is admitted. */
  subjects: AccessSubject[]
  /** Names of the servers that the selector matches. */
  servers: string[]
  /** Names of the reviewed scripts that it matches. Absent: none. */
  scripts?: string[]
  tools: ToolGrant
  resources: Grant
  prompts: Grant
  scopes: string[]
  /** Whether callers without the `scopes` see the tools too: their calls are then answered with the scopes that they need. */
  challenge: boolean
}

/** `issuer` and `client`, where given, must match too. `name` may be `*`. */
export type AccessSubject = { issuer?: string; client?: string } & (
  | { kind: 'Group' | 'User' | 'Token'; name: string }
  | { kind: 'ServiceAccount'; namespace: string; name: string }
  | { kind: 'Claim'; claim: string; values: string[] }
)

/** Glob patterns; deny takes precedence within one rule. */
export type Grant = { allow: string[]; deny: string[] }
export type ToolGrant = Grant & { readOnly: boolean }

/** On average at most `limit` per `everyMs` milliseconds, and at most `burst` at once. */
export type RateLimit = {
  per: 'Caller' | 'Gateway'
  counts: 'requests' | 'calls'
  limit: number
  everyMs: number
  burst: number
  /** Names of servers; absent: all. */
  servers?: string[]
  /** Patterns of tool names; absent: all. */
  tools?: string[]
}

const EVERYTHING: Grant = { allow: ['*'], deny: [] }

/** Everyone is admitted and may use everything. */
export const OPEN_ACCESS: AccessConfig = {
  rules: [],
  tools: { ...EVERYTHING, readOnly: false },
  rateLimits: [],
}
