/** Creates the upstream of a server in a cluster: its endpoint, with Secret values that are read at each use. */

import { HEADER_VALUE } from '../../../crds/core-v1.ts'
import type { Clock } from '../../async.ts'
import { instanceBearer } from '../../catalog/instances.ts'
import type {
  Endpoint,
  EndpointOAuth,
  RouterServer,
  SecretKey,
  UserHeader,
} from '../../catalog/router-config.ts'
import { Fault } from '../../errors.ts'
import type { HostGuard } from '../../host-guard.ts'
import { ownValue } from '../../own-value.ts'
import { AnswerRoom } from '../answer-room.ts'
import { INSTANCE_HEADER } from '../protocol/instance-header.ts'
import type { Upstream } from '../upstream.ts'
import type { ConnectedUser } from '../user.ts'
import { Bearers } from './bearers.ts'
import { connectRemote } from './connect.ts'
import { type ClientCredentials, createTokenSource, type TokenSource } from './http/oauth.ts'
import type { Headers, RemoteSpec } from './http/spec.ts'
import { createTokenExchange } from './http/token-exchange.ts'

export type ConnectorOptions = {
  /** The values of a Secret by key; undefined if it does not exist or cannot be read. */
  secret: (name: string) => Readonly<Record<string, string>> | undefined
  /** For a sidecar: the URL of the gateway's admin port, and the token for it. */
  gateway?: { url: string; token: () => Promise<string> }
  clock: Clock
  /** Remembers replaced bearer tokens. Default: this connector creates its own. */
  bearers?: Bearers
  /** Tokens of users who log in to servers. Absent: users cannot log in. */
  logins?: (server: Pick<RouterServer, 'name' | 'endpoint'>, user: ConnectedUser) => TokenSource
  /** As in RemoteDeps. */
  watchesLife?: boolean
  guard?: HostGuard
}

/** The properties of a server that its connection depends on. */
export type Connectable = Pick<RouterServer, 'name' | 'sessions' | 'sessionIdleMs' | 'endpoint'> & {
  limits: Pick<RouterServer['limits'], 'startTimeoutMs'>
}

/** `user`: whose upstream it is, with `sessions: perUser`. */
export type Connector = (server: Connectable, user?: ConnectedUser) => Upstream

/** An upstream of the connector sends nothing and reads no Secret before its first call. */
export function createConnector(given: ConnectorOptions): Connector {
  const options = { ...given, bearers: given.bearers ?? new Bearers() }
  const { clock, watchesLife, guard } = options
  const room = new AnswerRoom()
  return (server, user) => {
    const { sessions, sessionIdleMs, limits, endpoint } = server
    const spec = {
      // The upstream of one user is shared by this user's clients.
      sessions: sessions === 'perClient' ? sessions : ('shared' as const),
      sessionIdleMs,
      startTimeoutMs: limits.startTimeoutMs,
      ...connectionOf(server.name, endpoint, options, user),
    }
    // The guard is for URLs from manifests, which the URL of a sidecar's gateway is not.
    return connectRemote(spec, { clock, watchesLife, room, ...(endpoint.kind === 'http' && { guard }) })
  }
}

type Connection = Pick<RemoteSpec, 'url' | 'transport' | 'headers' | 'auth' | 'authority' | 'certificateHost'>
type Options = ConnectorOptions & { bearers: Bearers }
type HttpEndpoint = Extract<Endpoint, { kind: 'http' }>

function connectionOf(
  name: string,
  endpoint: Endpoint,
  options: Options,
  user: ConnectedUser | undefined,
): Connection {
  switch (endpoint.kind) {
    case 'http': {
      const { url, transport, authority, instance } = endpoint
      const auth = authOf(name, endpoint, options, user)
      const spec = { url, transport, headers: headersOf(endpoint, options, user), auth }
      if (!authority) return spec
      const certificateHost = instance?.certificateHost
      return { ...spec, authority: () => requireSecret(authority, options), certificateHost }
    }
    case 'gateway': {
      const { gateway } = options
      if (!gateway) throw new Error(`server ${name} is behind a gateway, and this router knows none`)
      const url = `${gateway.url}/servers/${encodeURIComponent(name)}/mcp`
      return { url, transport: 'streamable-http', auth: tokenOf(gateway.token) }
    }
    case 'local':
      throw new Error(`server ${name} is a child of another process`)
    case 'scripts':
      throw new Error('scripts are run by the router itself')
  }
}

/** The configured headers: a function only if a Secret is needed, so that fixed headers are not computed for every call. */
function headersOf(
  { headers = [], userHeaders, instance }: HttpEndpoint,
  options: ConnectorOptions,
  user: ConnectedUser | undefined,
): RemoteSpec['headers'] {
  if (instance) return { [INSTANCE_HEADER]: instance.revision }
  const perUser = user && userHeaders
  const resolve = (): Headers => {
    const pairs = headers.flatMap(header => {
      const value = 'secret' in header ? headerValue(header.secret, options) : header.value
      return value === undefined ? [] : [[header.name.toLowerCase(), value] as const]
    })
    return { ...Object.fromEntries(pairs), ...(perUser && userHeadersOf(perUser, user, options)) }
  }
  return perUser || headers.some(header => 'secret' in header) ? async () => resolve() : resolve()
}

/** The headers from the user's Secret, with names in lower case. */
function userHeadersOf(
  headers: readonly UserHeader[],
  { secret = '', subject }: ConnectedUser,
  options: ConnectorOptions,
): Headers {
  const values = options.secret(secret) ?? {}
  const pairs = headers.map(({ name, key, prefix }) => {
    const value = withoutLineBreak(ownValue(values, key) ?? '')
    if (value !== '' && HEADER_VALUE.test(value)) return [name.toLowerCase(), `${prefix}${value}`] as const
    const details = { reason: 'NeedsCredentials', subject, lacks: key }
    throw new Fault('user_refused', 'the Secret of the user has no usable value', { details })
  })
  return Object.fromEntries(pairs)
}

/** Removes the line break that `echo` appends, which a header value cannot contain. */
function withoutLineBreak(value: string): string {
  return value.replace(/\r?\n$/, '')
}

/** The source of bearer tokens for an endpoint; undefined if it needs none. */
function authOf(
  name: string,
  endpoint: HttpEndpoint,
  options: Options,
  user: ConnectedUser | undefined,
): TokenSource | undefined {
  const { bearer, instance, oauth, exchange, login, userHeaders, url } = endpoint
  if (bearer) {
    const newest = () => {
      const token = requireSecret(bearer, options)
      return instance ? instanceBearer(token, instance.user) : token
    }
    return { token: async (_signal, rejected) => options.bearers.of(url, newest(), rejected) ?? refused() }
  }
  const { clock } = options
  if (user && exchange)
    return withSecret(exchange, endpoint, options, client => createTokenExchange(client, user, clock))
  if (user && login) return options.logins?.({ name, endpoint }, user)
  // If users have credentials of their own, the server's credentials are only for reading lists.
  if (user && userHeaders) return undefined
  return oauth && withSecret(oauth, endpoint, options, client => createTokenSource(client, clock))
}

/** A source for a token that is renewed elsewhere: after a refusal, it is sent again only if it has changed. */
function tokenOf(read: () => Promise<string>): TokenSource {
  return {
    async token(_signal, rejected) {
      const token = await read()
      return token === rejected ? refused() : token
    },
  }
}

function refused(): never {
  throw new Fault('upstream_auth_required', 'The upstream refuses our token (401)')
}

/** A source that reads the client secret at each use. A changed secret discards the tokens issued for the old one. */
function withSecret(
  oauth: EndpointOAuth,
  upstream: HttpEndpoint,
  options: ConnectorOptions,
  create: (client: ClientCredentials) => TokenSource,
): TokenSource {
  const { clientSecret, ...client } = oauth
  let made: { secret: string; source: TokenSource } | undefined
  return {
    async token(signal, rejected) {
      const secret = requireSecret(clientSecret, options)
      if (made?.secret !== secret) {
        const credentials = { ...client, clientSecret: secret, upstream, guard: options.guard }
        made = { secret, source: create(credentials) }
      }
      return made.source.token(signal, rejected)
    },
  }
}

function requireSecret(ref: SecretKey, options: ConnectorOptions): string {
  return secretValue(ref, options) ?? refuse(ref, 'does not exist')
}

/** As secretValue; throws if the value is not a valid header value. */
function headerValue(ref: SecretKey, options: ConnectorOptions): string | undefined {
  const value = secretValue(ref, options)
  if (value === undefined || HEADER_VALUE.test(value)) return value
  const message = `The value of key ${ref.key} of Secret ${ref.name} is no header: it has a line break or another control character`
  throw new Fault('bad_request', message, { details: { reason: 'Invalid' } })
}

/** Undefined only if the key is optional. */
function secretValue(ref: SecretKey, { secret }: ConnectorOptions): string | undefined {
  const values = secret(ref.name)
  const value = ownValue(values, ref.key)
  if (value !== undefined) return withoutLineBreak(value)
  return ref.optional ? undefined : refuse(ref, values ? 'does not exist' : 'cannot be read')
}

function refuse({ name, key }: SecretKey, why: string): never {
  const details = { reason: 'SecretNotFound' }
  throw new Fault('upstream_auth_required', `Key ${key} of Secret ${name} ${why}`, { details })
}
