/** Names of the objects that more than one program of the cluster has to know. Pure. */

/** Deployment, Service, NetworkPolicy and bearer Secret of a server. */
export function serverObjectName(server: string): string {
  return `mcp-${server}`
}

/** Key of the bearer token in the Secret of a bridged server. */
export const BEARER_KEY = 'token'

/** The ConfigMap of one slice of a server's catalog, counted from 0. */
export function sliceName(server: string, part: number): string {
  return `${server}-catalog-${part}`
}

/** The ConfigMap that feeds a gateway's routers. */
export function feedName(gateway: string): string {
  return `${gateway}-router`
}
