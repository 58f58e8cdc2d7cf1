/** Warns about images that check no credential: every pod that can connect to one may call it. Pure. */
import type { Problem } from '../../core/errors.ts'
import { REASON } from '../../crds/conditions.ts'
import type { McpServer } from '../../crds/server.ts'
import type { OperatorSettings } from './settings.ts'

/** A bridge requires a bearer token. An image that serves HTTP itself can check only the credentials that `headers` or `auth` send to it. */
export function openImage({ spec }: McpServer, { networkPolicies }: OperatorSettings): Problem[] {
  const isSentCredential =
    spec.auth?.oauth !== undefined || spec.headers.some(({ valueFrom }) => valueFrom?.secretKeyRef)
  if (spec.image?.transport !== 'http' || isSentCredential) return []
  const who = networkPolicies
    ? 'only a NetworkPolicy, where the network enforces it, keeps other pods from calling it'
    : 'every pod that reaches it can call it'
  const message = `it serves HTTP itself and is sent no credential, so that ${who}: have it check a header that spec.headers takes from a Secret`
  return [{ reason: REASON.openToPods, path: 'spec.image.transport', message }]
}
