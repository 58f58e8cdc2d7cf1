/** Which addresses discovery does not connect to. */
import type { HostGuard } from '../../core/host-guard.ts'
import { createRemoteGuard } from '../../core/mcp/client/remote-guard.ts'
import type { OperatorContext } from '../operator.ts'

type Rules = Pick<OperatorContext, 'apiServer' | 'proxyFor'> & {
  settings: Pick<OperatorContext['settings'], 'permitted'>
}

/** The API server's addresses are not in the settings: those go into the pods of routers, which would be replaced when a name gets another address. */
export function discoveryGuard({ settings: { permitted }, apiServer = [], proxyFor }: Rules): HostGuard {
  const refusedAddresses = [...apiServer, ...permitted.refusedAddresses]
  return createRemoteGuard({ ...permitted, refusedAddresses, proxyFor })
}
