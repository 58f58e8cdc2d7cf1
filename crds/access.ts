/** The parts of an McpGateway that say who may use it: authentication, access rules, rate limits and audit. */
import * as z from 'zod'
import { configMapKeyRef, labelSelector } from './core-v1.ts'
import { duration } from './quantity.ts'
import { loginClient } from './server-auth.ts'

const MAX_RULES = 256
const name = z.string().min(1).max(253)
const pattern = z.string().min(1).max(2_048)
const requiredKey = configMapKeyRef.omit({ optional: true })
const words = z.array(z.string().min(1).max(1_024))
/** `http://` with a backslash, or with a name below `.svc.`, could lead out of the cluster: URL parsers read a backslash as a slash. */
const httpsUrl = z
  .string()
  .max(2_048)
  .regex(
    /^(?:https:\/\/[^\s/?#\\]+|http:\/\/(?:localhost|127\.0\.0\.1|\[::1\]|[\w.-]+\.svc(?:\.cluster\.local)?)(?::\d+)?)(?:\/[^\s?#]*)?$/,
    'must be an https:// URL; http:// only on loopback and for Services of the cluster (*.svc)',
  )

/** As `httpsUrl`, without a user and a path. */
const origin = z
  .string()
  .max(2_048)
  .regex(
    /^(?:https:\/\/(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])|http:\/\/(?:localhost|127\.0\.0\.1|\[::1\]|[\w.-]+\.svc(?:\.cluster\.local)?))(?::\d+)?$/,
    'must be https:// and a host, without a path; http:// only on loopback and for Services of the cluster (*.svc)',
  )

export const gatewayUrl = httpsUrl
  .optional()
  .describe(
    'The URL at which callers reach the gateway, without /mcp: for protected resource metadata and challenges. Required with `auth.jwt`.',
  )

const serviceAccounts = z.strictObject({
  audiences: words
    .min(1)
    .max(16)
    .default(['portolan'])
    .describe('The token must have one of these audiences.'),
  namespaces: z
    .array(name)
    .max(64)
    .optional()
    .describe("Namespaces whose ServiceAccounts are admitted. Default: the gateway's own."),
  review: duration('60s')
    .optional()
    .describe(
      'Additionally verifies each token by a TokenReview, whose result is used for at most this time (10s or more), so that tokens of deleted pods are refused. Needs the value `tokenReview.enabled` of the chart. If absent, tokens are verified by public keys only.',
    ),
})

const jwt = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(63)
    .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'must be lower-case letters, digits and "-"')
    .describe('The name by which rules refer to the issuer.'),
  issuer: httpsUrl.describe('Must equal the `iss` claim exactly.'),
  audiences: words
    .min(1)
    .max(16)
    .describe("The token must have one of these audiences: usually the gateway's URL with /mcp."),
  keys: z
    .strictObject({
      uri: httpsUrl.optional().describe('URL of the JSON Web Key Set.'),
      configMapKeyRef: requiredKey.optional().describe('A ConfigMap that contains the JSON Web Key Set.'),
    })
    .optional()
    .describe(
      'Where the public keys come from: `uri` or `configMapKeyRef`. Default: the discovery document of the issuer.',
    ),
  caBundle: z
    .strictObject({ configMapKeyRef: requiredKey.describe('A key with PEM certificates.') })
    .optional()
    .describe('Certificate authorities to trust for the issuer, instead of the public ones.'),
  claimMappings: z
    .strictObject({
      username: z.string().min(1).max(128).default('sub').describe('Claim with the name of the user.'),
      groups: z.string().min(1).max(128).default('groups').describe('Claim with the groups of the user.'),
    })
    .prefault({})
    .describe('Which claims contain what.'),
  requiredScopes: words
    .max(64)
    .default([])
    .describe('Scopes that every token must have; each challenge lists them.'),
  clockSkew: duration('30s').default('30s').describe('Tolerance for `exp`, `nbf` and `iat`.'),
  maxLifetime: duration('24h').default('24h').describe('Longest accepted time from `iat` to `exp`.'),
  login: loginClient('`requiredScopes`')
    .optional()
    .describe(
      'The client with which browsers log in at this issuer, before a user logs in to a server with `auth.perUser.oauth`. Its redirect URI is the `url` of the gateway with `/connect`. Absent: Portolan registers itself.',
    ),
})

export const auth = z
  .strictObject({
    anonymous: z
      .enum(['Deny', 'Allow'])
      .default('Deny')
      .describe('Whether callers without a credential are admitted.'),
    serviceAccounts: serviceAccounts
      .optional()
      .describe('Admits ServiceAccounts of the cluster. Clusters only.'),
    jwt: z
      .array(jwt)
      .max(16)
      .default([])
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
      .describe('Admits JSON Web Tokens of these issuers.'),
    tokenExchangeOrigins: z
      .array(origin)
      .max(16)
      .default([])
      .describe(
        "Where McpServers with `auth.perUser.tokenExchange` may send callers' JSON Web Tokens besides the origins of the issuers in `jwt`, such as `https://sts.example.com`. Whoever answers there gets tokens with which it can act as these callers at the gateway.",
      ),
    tokens: z
      .strictObject({
        secretName: name.describe(
          'Each key of the Secret is the name of a caller, each value its token (32 characters or more) or `sha256:` and its hash in hex.',
        ),
      })
      .optional()
      .describe('Admits named tokens.'),
    revoked: z
      .strictObject({
        configMapName: name.describe(
          'Each value is one of the lines `sub <subject>`, `jti <id>` or `before <RFC 3339 time>`, optionally followed by the name of the issuer.',
        ),
      })
      .optional()
      .describe('Tokens that are refused although they have not expired.'),
  })
  .optional()
  .describe('Who is admitted. If absent, everyone who reaches the gateway, anonymously.')

const issuer = z
  .string()
  .min(1)
  .max(63)
  .optional()
  .describe('Name in `auth.jwt`; optional if there is only one.')

const subject = z.strictObject({
  kind: z.enum(['Group', 'User', 'ServiceAccount', 'Token']).optional().describe('What `name` is.'),
  name: name
    .optional()
    .describe('The group, the username, the ServiceAccount or the name of the token; `*` for any.'),
  namespace: name.optional().describe("Namespace of the ServiceAccount. Default: the gateway's own."),
  issuer,
  client: z
    .string()
    .min(1)
    .max(253)
    .optional()
    .describe('Matches only tokens that this OAuth client got (`azp` or `client_id`).'),
  claim: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe('Instead of `kind`: a claim that has one of `values`.'),
  values: words.max(64).optional().describe('Values of the claim.'),
})

const patterns = (what: string) =>
  z
    .strictObject({
      allow: z
        .array(pattern)
        .max(256)
        .default(['*'])
        .describe(`${what} to include; \`*\` stands for any characters.`),
      deny: z
        .array(pattern)
        .max(256)
        .default([])
        .describe(`${what} to leave out; takes precedence over \`allow\`.`),
    })
    .prefault({})

const toolPatterns = patterns('Names of tools')
  .unwrap()
  .extend({
    readOnly: z
      .boolean()
      .default(false)
      .describe(
        'Only tools that are known to be read-only: see `tools.trustHints` and `tools.overrides` of an McpServer.',
      ),
  })

export const accessRules = z
  .array(
    z.strictObject({
      name: name.describe('Names the rule in status, logs and metrics.'),
      subjects: z
        .array(subject)
        .max(64)
        .default([])
        .describe(
          'The rule applies to callers that match any of these; if empty, to everyone who is admitted.',
        ),
      servers: labelSelector
        .prefault({})
        .describe('McpServers by labels; if empty, all servers of the gateway.'),
      tools: toolPatterns.prefault({}).describe('Which tools of these servers.'),
      resources: patterns('URIs of resources and templates').describe('Which resources of these servers.'),
      prompts: patterns('Names of prompts').describe('Which prompts of these servers.'),
      scopes: words
        .max(64)
        .default([])
        .describe('Scopes that the token must have; otherwise the rule does not match.'),
      challenge: z
        .boolean()
        .default(false)
        .describe(
          'If true, what the rule grants is also visible to callers whose token lacks `scopes`, and their calls are answered 403 insufficient_scope.',
        ),
    }),
  )
  .max(MAX_RULES)
  .default([])
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
  .describe(
    'Who may use what. A caller may use what any matching rule grants; what no rule grants is hidden from it. If empty, everyone who is admitted may use everything.',
  )

export const gatewayTools = toolPatterns
  .prefault({})
  .describe('An upper limit for all callers, whatever the rules grant.')

const count = z.int().min(1).max(1_000_000_000)

export const rateLimits = z
  .array(
    z.strictObject({
      per: z
        .enum(['Caller', 'Gateway'])
        .describe('Whether each caller has this limit, which needs `spec.auth`, or all callers together.'),
      requests: count.optional().describe('Requests of any kind; one of `requests` and `calls`.'),
      calls: count.optional().describe('Calls of tools.'),
      every: duration('1m').describe(
        'The period in which this many are allowed. From 1h on, the limit holds for every period of this length.',
      ),
      burst: count.optional().describe('How many may arrive at once. Default: all of them.'),
      servers: labelSelector.optional().describe('Only calls of these McpServers.'),
      tools: z.array(pattern).max(64).optional().describe('Only calls of these tools.'),
    }),
  )
  .max(64)
  .default([])
  .describe(
    'How often the gateway may be used. With `every` below 1h, each router enforces an equal part of the limit; from 1h on, the routers add up what they have counted.',
  )

export const auditEvents = z
  .array(z.enum(['Calls', 'Denials', 'Logins']))
  .max(3)
  .default([])
  .describe(
    'Events that are written to the audit stream, one JSON line each. Calls: calls of tools, prompts and resources, and searches. Denials: requests that the rules do not allow, that exceed a limit, or that have no valid credential. Logins: credentials that a router sees for the first time, and refused ones.',
  )

export const auditArguments = z
  .enum(['None', 'Names', 'Digest', 'Redacted', 'Full'])
  .default('None')
  .describe(
    'How much of the arguments of calls the audit stream contains: nothing (None), their names (Names), a SHA-256 digest (Digest), everything except long texts and values that look secret (Redacted), or everything (Full). If the arguments have more than 16,384 characters as JSON, only their length is written (tooLong), also with Redacted.',
  )

export const auditSink = z
  .enum(['Stdout', 'Stderr'])
  .default('Stdout')
  .describe('Where audit lines are written. Stderr: together with the log.')

export const auditOverflow = z
  .enum(['Drop', 'Refuse'])
  .default('Drop')
  .describe(
    'What happens if audit lines cannot be written fast enough. Drop: they are lost and counted. Refuse: requests are answered with 503 meanwhile.',
  )

export type GatewayAuth = NonNullable<z.output<typeof auth>>
export type AccessRuleSpec = z.output<typeof accessRules>[number]
export type AccessSubject = z.output<typeof subject>
export type RateLimitSpec = z.output<typeof rateLimits>[number]
