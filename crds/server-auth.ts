/** The field `auth` of an McpServer: how the gateway logs in at an upstream, for all callers or for each user. */
import * as z from 'zod'
import { HEADER_VALUE, labelSelector, secretKeyRef } from './core-v1.ts'
import { headerName } from './header-name.ts'

/** `auth.perUser.secrets.headers` of a server over HTTP that gives none. */
export const DEFAULT_USER_HEADERS = [{ name: 'Authorization', key: 'token', prefix: 'Bearer ' }]

const userHeader = z.strictObject({
  name: headerName.describe('Name of the header.'),
  key: z.string().min(1).max(253).describe('Key within the Secret of the user.'),
  prefix: z
    .string()
    .max(256)
    .regex(HEADER_VALUE, 'must be one line without control characters')
    .default('')
    .describe('Text before the value, such as `Bearer` and a space.'),
})

const url = z
  .string()
  .max(2_048)
  .regex(/^https?:\/\/[^\s/]+/, 'must be a URL that begins with https:// or http://')
const clientId = z.string().min(1).max(1_024)
const scopes = z.array(z.string().min(1).max(256)).max(64).default([])
const audience = z.string().max(1_024)

const tokenExchange = z
  .strictObject({
    tokenUrl: url.describe(
      'The token endpoint. It gets the tokens of users, so its origin (scheme, host and port) must be that of an issuer in `auth.jwt` of the McpGateway, or one of its `auth.tokenExchangeOrigins`.',
    ),
    clientId: clientId.describe('The client id.'),
    clientSecretRef: secretKeyRef.describe('The Secret and key that hold the client secret.'),
    audience: audience.optional().describe('The upstream, as the authorization server knows it.'),
    scopes: scopes.describe('Scopes to request.'),
  })
  .describe(
    'Token exchange (RFC 8693): the JSON Web Token of the caller is exchanged for a token of the upstream, which is cached for the user. For servers over HTTP.',
  )

/** The schema of the OAuth client with which users log in in a browser. `defaultScopes`: describes the scopes if none are given. */
export const loginClient = (defaultScopes: string) =>
  z.strictObject({
    scopes: scopes.describe(`Scopes to request; default: ${defaultScopes}.`),
    clientId: clientId
      .optional()
      .describe(
        'The client id. Absent: Portolan registers itself (RFC 7591), if the authorization server admits it.',
      ),
    clientSecretRef: secretKeyRef
      .optional()
      .describe('The Secret and key that hold the client secret, if there is one.'),
  })

const oauth = loginClient('those that the upstream names')
  .extend({
    issuer: url
      .optional()
      .describe(
        "The authorization server, as its metadata name it (`issuer`): users log in only there. If absent, the upstream names it, and so decides where the client secret and users' codes are sent. Set it if you set `clientSecretRef`.",
      ),
  })
  .describe(
    'A login of each user in a browser, at the authorization server that the upstream names (RFC 9728). For servers over HTTP. The gateway must admit its callers by `auth.jwt`; on a laptop it may also be without `auth`, and you are its only user.',
  )

const perUser = z.strictObject({
  secrets: z
    .strictObject({
      selector: labelSelector.describe('Labels of the Secrets, in the namespace of the server.'),
      headers: z
        .array(userHeader)
        .min(1)
        .max(16)
        .optional()
        .describe(
          'For a server over HTTP: the headers that carry a Secret. Default: `Authorization`, with `Bearer ` and the key `token`. A stdio server gets all keys as environment.',
        ),
    })
    .optional()
    .describe('A Secret for each user. Its annotation `portolan.dev/subject` names the user.'),
  tokenExchange: tokenExchange.optional(),
  oauth: oauth.optional(),
})

export const auth = z.strictObject({
  oauth: z
    .strictObject({
      tokenUrl: url
        .optional()
        .describe(
          "The token endpoint. If absent, it is discovered from the upstream's metadata (RFC 9728, RFC 8414): the upstream then decides where the client secret is sent.",
        ),
      clientId: clientId.describe('The client id.'),
      clientSecretRef: secretKeyRef.describe('The Secret and key that hold the client secret.'),
      scopes: scopes.describe('Scopes to request.'),
      audience: audience.optional().describe('Audience to request, if the authorization server needs one.'),
    })
    .optional()
    .describe('OAuth 2 client credentials: the token is cached, and renewed once after a 401.'),
  perUser: perUser
    .optional()
    .describe(
      'Credentials of each user, for `sessions: perUser`: exactly one of the fields. The lists are read without them.',
    ),
})
