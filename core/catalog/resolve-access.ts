/** Resolves what a gateway's manifest says about its callers into the access config of a router. Pure. */
import type {
  AccessRuleSpec,
  GatewayAuth,
  RateLimitSpec,
  AccessSubject as SubjectSpec,
} from '../../crds/access.ts'
import type { LabelSelector } from '../../crds/core-v1.ts'
import type { McpGatewaySpec } from '../../crds/gateway.ts'
import { parseDuration } from '../../crds/quantity.ts'
import type { McpScript } from '../../crds/script.ts'
import type { McpServer } from '../../crds/server.ts'
import type { JsonObject } from '../json.ts'
import type {
  AccessConfig,
  AccessRule,
  AccessSubject,
  AuthConfig,
  JwtIssuerConfig,
  RateLimit,
} from './access-config.ts'
import type { AuthReferences } from './auth-references.ts'
import { loginOf } from './endpoint.ts'
import { SCRIPTS } from './router-config.ts'
import { selects } from './select.ts'

export type AccessInput = {
  /** Namespace of the gateway. */
  namespace: string
  /** The servers that the gateway selects. */
  servers: readonly McpServer[]
  /** The reviewed scripts that it offers. */
  scripts?: readonly McpScript[]
  /** What its `auth` refers to. */
  references: AuthReferences
  /** By name of the issuer: the JSON Web Key Set that was fetched. */
  fetchedKeys?: ReadonlyMap<string, JsonObject>
}

export function resolveAccess(spec: McpGatewaySpec, input: AccessInput): AccessConfig {
  const { url, auth, access, tools, rateLimits, audit } = spec
  const { events, arguments: args, sink, onOverflow } = audit
  return {
    ...(url !== undefined && { url: url.replace(/\/+$/, '') }),
    ...(auth && { auth: resolveAuth(auth, input) }),
    rules: access.map(rule => resolveRule(rule, input)),
    tools,
    rateLimits: rateLimits.map(limit => resolveLimit(limit, input)),
    ...(events.length > 0 && { audit: { events, arguments: args, sink, onOverflow } }),
  }
}

function resolveAuth(auth: GatewayAuth, { namespace, references, fetchedKeys }: AccessInput): AuthConfig {
  const { serviceAccounts: accounts } = auth
  return {
    anonymous: auth.anonymous === 'Allow',
    ...(accounts && {
      serviceAccounts: {
        audiences: accounts.audiences,
        namespaces: accounts.namespaces ?? [namespace],
        ...(accounts.review !== undefined && { reviewMs: parseDuration(accounts.review) }),
      },
    }),
    jwt: auth.jwt.map(issuer =>
      resolveIssuer(issuer, {
        jwks: fetchedKeys?.get(issuer.name),
        ...references.issuers.get(issuer.name),
      }),
    ),
    ...(auth.tokens && { tokens: auth.tokens }),
    revoked: references.revoked,
  }
}

function resolveIssuer(
  {
    name,
    issuer,
    audiences,
    keys,
    claimMappings,
    requiredScopes,
    clockSkew,
    maxLifetime,
    login,
  }: GatewayAuth['jwt'][number],
  found: { jwks?: JsonObject; ca?: string } = {},
): JwtIssuerConfig {
  const keysFrom = keys?.configMapKeyRef
    ? undefined
    : keys?.uri === undefined
      ? { discovery: true as const }
      : { uri: keys.uri }
  return {
    name,
    issuer,
    audiences,
    ...(found.jwks && { jwks: found.jwks }),
    ...(keysFrom && { keysFrom }),
    ...(found.ca !== undefined && { ca: found.ca }),
    usernameClaim: claimMappings.username,
    groupsClaim: claimMappings.groups,
    requiredScopes,
    clockSkewMs: parseDuration(clockSkew),
    maxLifetimeMs: parseDuration(maxLifetime),
    ...(login && { login: loginOf(login) }),
  }
}

function resolveRule(rule: AccessRuleSpec, input: AccessInput): AccessRule {
  const { name, subjects, tools, resources, prompts, scopes, challenge } = rule
  const scripts = selected(rule.servers, input.scripts)
  return {
    name,
    subjects: subjects.map(subject => resolveSubject(subject, input)),
    servers: selected(rule.servers, input.servers),
    ...(scripts.length > 0 && { scripts }),
    tools,
    resources,
    prompts,
    scopes,
    challenge,
  }
}

function resolveSubject(subject: SubjectSpec, { namespace }: AccessInput): AccessSubject {
  const { kind, name = '', claim, values = [], issuer, client } = subject
  const bound = { ...(issuer !== undefined && { issuer }), ...(client !== undefined && { client }) }
  if (claim !== undefined) return { kind: 'Claim', claim, values, ...bound }
  if (kind === 'ServiceAccount') return { kind, namespace: subject.namespace ?? namespace, name, ...bound }
  return { kind: kind ?? 'User', name, ...bound }
}

function resolveLimit(spec: RateLimitSpec, input: AccessInput): RateLimit {
  const { per, requests, calls, every, burst, servers, tools } = spec
  const limit = requests ?? calls ?? 1
  return {
    per,
    counts: requests === undefined ? 'calls' : 'requests',
    limit,
    everyMs: parseDuration(every),
    burst: burst ?? limit,
    ...(servers && {
      servers: [
        ...selected(servers, input.servers),
        ...(selected(servers, input.scripts).length > 0 ? [SCRIPTS] : []),
      ],
    }),
    ...(tools && { tools }),
  }
}

/** The names of what a selector matches. */
function selected(selector: LabelSelector, given: readonly (McpServer | McpScript)[] = []): string[] {
  return given
    .filter(({ metadata }) => selects(selector, metadata.labels))
    .map(({ metadata }) => metadata.name)
    .sort()
}
