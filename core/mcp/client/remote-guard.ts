/** Which addresses remote servers, their authorization servers and embeddings services may have in a cluster. */
import { Fault } from '../../errors.ts'
import { createHostGuard, type HostGuard } from '../../host-guard.ts'
import type { ProxyFor } from '../../proxies.ts'

export type RemoteRules = {
  /** Addresses and subnets that are refused, besides loopback and link-local ones: the API server's, for example. */
  refusedAddresses: readonly string[]
  /** Hosts that may have such an address nevertheless. Patterns for several hosts, such as `*.example.com`, have no effect. */
  remoteHosts: readonly string[]
  /** As in HostGuard. */
  proxyFor?: ProxyFor
}

/** A guard for `remote` servers in a cluster. Its fault does not contain the address, because agents see it. */
export function createRemoteGuard({ refusedAddresses, remoteHosts, proxyFor }: RemoteRules): HostGuard {
  return createHostGuard({
    refused: refusedAddresses,
    allowed: remoteHosts,
    loopback: 'none',
    proxyFor,
    refusal: () =>
      new Fault('upstream_unreachable', 'The upstream has an address that is not allowed in this cluster', {
        details: { reason: 'NotPermitted' },
      }),
  })
}
