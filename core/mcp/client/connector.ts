/** Creates the upstream of a server in a cluster: its endpoint, with Secret values that are read at each use. */
import type { Clock } from '../../async.ts'
import type { Endpoint, EndpointOAuth, RouterServer, SecretKey } from '../../catalog/router-config.ts'
import { Fault } from '../../errors.ts'
import type { Upstream } from '../upstream.ts'
import { connectRemote } from './connect.ts'
import { createTokenSource, type TokenSource } from './http/oauth.ts'
import type { Headers, RemoteSpec } from './http/spec.ts'

export type ConnectorOptions = {
  /** The values of a Secret by key; undefined if it does not exist or cannot be read. */
  secret: (name: string) => Readonly<Record<string, string>> | undefined
  /** For a sidecar: the URL of the gateway's admin port, and the token for it. */
  gateway?: { url: string; token: () => Promise<string> }
  clock: Clock
  /** As in RemoteDeps. */
  watchesLife?: boolean
}

/** The properties of a server that its connection depends on. */
export type Connectable = Pick<RouterServer, 'name' | 'sessions' | 'endpoint'> & {
  limits: Pick<RouterServer['limits'], 'startTimeoutMs'>
}

/** Sends nothing and reads no Secret before the first call. */
export function createConnector(options: ConnectorOptions): (server: Connectable) => Upstream {
  const { clock, watchesLife } = options
  return server => {
    const { sessions, limits, endpoint } = server
    const spec = {
      sessions,
      startTimeoutMs: limits.startTimeoutMs,
      ...connectionOf(server.name, endpoint, options),
    }
    return connectRemote(spec, { clock, watchesLife })
  }
}

type Connection = Pick<RemoteSpec, 'url' | 'transport' | 'headers' | 'auth'>
type HttpEndpoint = Extract<Endpoint, { kind: 'http' }>

function connectionOf(name: string, endpoint: Endpoint, options: ConnectorOptions): Connection {
  switch (endpoint.kind) {
    case 'http': {
      const { url, transport } = endpoint
      return { url, transport, headers: headersOf(endpoint, options), auth: authOf(endpoint, options) }
    }
    case 'gateway': {
      const { gateway } = options
      if (!gateway) throw new Error(`server ${name} is behind a gateway, and this router knows none`)
      const url = `${gateway.url}/servers/${encodeURIComponent(name)}/mcp`
      return { url, transport: 'streamable-http', auth: bearerOf(gateway.token) }
    }
    case 'local':
      throw new Error(`server ${name} is a child of another process`)
  }
}

/** A function only if a Secret is needed, so that fixed headers are not computed for every call. */
function headersOf({ headers = [] }: HttpEndpoint, options: ConnectorOptions): RemoteSpec['headers'] {
  const resolve = (): Headers => {
    const pairs = headers.flatMap(header => {
      const value = 'secret' in header ? secretValue(header.secret, options) : header.value
      return value === undefined ? [] : [[header.name, value] as const]
    })
    return Object.fromEntries(pairs)
  }
  return headers.some(header => 'secret' in header) ? async () => resolve() : resolve()
}

function authOf(endpoint: HttpEndpoint, options: ConnectorOptions): TokenSource | undefined {
  const { bearer, oauth } = endpoint
  if (bearer) return bearerOf(async () => requireSecret(bearer, options))
  return oauth && oauthOf(oauth, endpoint, options)
}

/** A token that others renew: after a refusal, only a changed token is tried again. */
function bearerOf(read: () => Promise<string>): TokenSource {
  return {
    async token(_signal, rejected) {
      const token = await read()
      if (token === rejected)
        throw new Fault('upstream_auth_required', 'The upstream refuses our token (401)')
      return token
    },
  }
}

/** A changed client secret discards the tokens issued for the old one. */
function oauthOf(oauth: EndpointOAuth, upstream: HttpEndpoint, options: ConnectorOptions): TokenSource {
  const { clientSecret, ...client } = oauth
  let made: { secret: string; source: TokenSource } | undefined
  return {
    async token(signal, rejected) {
      const secret = requireSecret(clientSecret, options)
      if (made?.secret !== secret) {
        const credentials = { ...client, clientSecret: secret, upstream }
        made = { secret, source: createTokenSource(credentials, options.clock) }
      }
      return made.source.token(signal, rejected)
    },
  }
}

function requireSecret(ref: SecretKey, options: ConnectorOptions): string {
  return secretValue(ref, options) ?? refuse(ref, 'does not exist')
}

/** Undefined only if the key is optional. Removes a line break at the end, as `echo` adds it: HTTP values cannot contain one. */
function secretValue(ref: SecretKey, { secret }: ConnectorOptions): string | undefined {
  const values = secret(ref.name)
  const value = values && Object.hasOwn(values, ref.key) ? values[ref.key] : undefined
  if (value !== undefined) return value.replace(/\r?\n$/, '')
  return ref.optional ? undefined : refuse(ref, values ? 'does not exist' : 'cannot be read')
}

function refuse({ name, key }: SecretKey, why: string): never {
  const details = { reason: 'SecretNotFound' }
  throw new Fault('upstream_auth_required', `Key ${key} of Secret ${name} ${why}`, { details })
}
