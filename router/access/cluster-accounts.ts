/** Verifies ServiceAccount tokens against the API server of the router's own cluster. */
import type { Clock } from '../../core/async.ts'
import type { Access } from '../../core/kube/access.ts'
import { KubeClient } from '../../core/kube/client.ts'
import { reviewToken } from '../../core/kube/token-review.ts'
import { Transport } from '../../core/kube/transport.ts'
import type { Log } from '../../core/log.ts'
import { createServiceAccounts, type ServiceAccounts } from './service-accounts.ts'
import { createTokenReviews } from './token-reviews.ts'

/** How long a request waits for the review of its token. */
const REVIEW_TIMEOUT_MS = 5_000

/** Sends no request before the first token. `close` ends its connections. */
export function connectServiceAccounts(
  access: Access,
  { clock, log }: { clock: Clock; log: Log },
): { accounts: ServiceAccounts; close(): Promise<void> } {
  // Reads the API server's public keys: they are no Kubernetes object, and their media type is not application/json.
  const transport = new Transport(access)
  const read = async (path: string): Promise<unknown> =>
    JSON.parse(await transport.send({ method: 'GET', path, accept: '*/*' }))
  // With separate connections, so that reviews and other requests do not wait for each other.
  const client = new KubeClient(access, { timeoutMs: REVIEW_TIMEOUT_MS })
  const ask = (token: string, audiences: readonly string[]) => reviewToken(client, token, audiences)
  return {
    accounts: createServiceAccounts({ read, reviews: createTokenReviews({ ask, clock, log }), clock }),
    async close() {
      await Promise.all([client.close(), transport.close()])
    },
  }
}
