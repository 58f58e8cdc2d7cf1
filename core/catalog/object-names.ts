/** Names of Kubernetes objects that both operator and routers use. Pure. */

/** The name of a server's Deployment, Service, NetworkPolicy and bearer Secret. */
export function serverObjectName(server: string): string {
  return `mcp-${server}`
}

/** Key of the bearer token in the Secret of a bridged server. */
export const BEARER_KEY = 'token'

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
