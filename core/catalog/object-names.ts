/** Names of Kubernetes objects that both operator and routers use. Pure. */

/** The name of a server's Deployment, Service, NetworkPolicy and bearer Secret. */
export function serverObjectName(server: string): string {
  return `mcp-${server}`
}

/** Key of the bearer token in the Secret of a bridged server. */
export const BEARER_KEY = 'token'

/** Key, in the same Secret, of the certificates that its bridge may have: only with `tls`. */
export const AUTHORITY_KEY = 'ca.crt'

/** The Secret with the certificate and the key of a bridge with `tls`. No other name has a dot, since names of servers have none. */
export function certificateName(server: string): string {
  return `${serverObjectName(server)}.tls`
}

/** The name of the Deployment, Service and bearer Secret of a user's instance of a server. `user`: the user's id. */
export function instanceName(server: string, user: string): string {
  return `${serverObjectName(server)}-u-${user}`
}

/** The name by which callers reach a server, and which its certificate has to have. */
export function serverHost(server: string, namespace: string): string {
  return `${serverObjectName(server)}.${namespace}.svc`
}

/** The ConfigMap of one slice of a server's catalog; `part` counts from 0. */
export function sliceName(server: string, part: number): string {
  return `${server}-catalog-${part}`
}

/** The ConfigMap of one slice of a server's approved tools. */
export function approvedName(server: string, part: number): string {
  return `${server}-approved-${part}`
}

/** The ConfigMap that feeds a gateway's routers. */
export function feedName(gateway: string): string {
  return `${gateway}-router`
}
