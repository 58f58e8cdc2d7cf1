/** Instances of a server in a cluster that belong to one user each: which servers have them, and how their bridges are reached. Pure. */
import { createHmac, hash } from 'node:crypto'
import type { McpServer } from '../../crds/server.ts'
import { isBridged } from './endpoint.ts'
import { instanceName, serverObjectName } from './object-names.ts'
import type { Endpoint } from './router-config.ts'

/** Whether each user has a pod: two users in one process could read each other's environment and state. */
export function hasInstances({ spec }: Pick<McpServer, 'spec'>): boolean {
  return spec.sessions === 'perUser' && isBridged({ spec })
}

/** Identifies the user and the content of the user's Secret (`secret`, its digest): an instance that was made with another one takes no request. */
export function instanceRevision(user: string, secret = ''): string {
  return hash('sha256', `${user} ${secret}`, 'hex').slice(0, 16)
}

/** The bearer token of a user's bridge, derived from the server's token, so that no bridge can derive the token of another user. */
export function instanceBearer(token: string, user: string): string {
  return createHmac('sha256', token).update(user).digest('base64url')
}

type HttpEndpoint = Extract<Endpoint, { kind: 'http' }>

/** The endpoint of a user's instance of the server `name`. `endpoint`: that of the server, whose pods serve no user; `secret`: as above. */
export function instanceEndpoint(
  name: string,
  endpoint: HttpEndpoint,
  user: { id: string; digest: string },
  secret: string | undefined,
): HttpEndpoint {
  const url = endpoint.url.replace(`//${serverObjectName(name)}.`, `//${instanceName(name, user.id)}.`)
  const certificateHost = endpoint.authority && new URL(endpoint.url).hostname
  return {
    ...endpoint,
    url,
    instance: {
      user: user.digest,
      revision: instanceRevision(user.digest, secret),
      ...(certificateHost !== undefined && { certificateHost }),
    },
  }
}
