/** When open requests are reviewed: at each change of the config and, where ServiceAccounts are reviewed, shortly after a review is due. */
import type { Clock, Timer } from '../../core/async.ts'
import type { AccessConfig } from '../../core/catalog/access-config.ts'
import type { Log } from '../../core/log.ts'
import type { IdentityKind } from '../../core/mcp/identity.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Newest } from '../source/newest.ts'
import type { OpenRequests } from './open-requests.ts'

export type OpenRequestReviewsOptions = { served: Newest<Catalog>; clock: Clock; log: Log }

/** How much later than `review` a deleted pod's stream ends, as a part of `review`. Each look costs a look-up for each open request. */
const LATE_PART = 10
const MIN_LATE_MS = 1_000

/** Until `signal` aborts. */
export async function reviewOpenRequests(
  openRequests: Pick<OpenRequests, 'review'>,
  { served, clock, log }: OpenRequestReviewsOptions,
  signal: AbortSignal,
): Promise<void> {
  let timer: Timer | undefined
  const review = (access: AccessConfig, kind?: IdentityKind) =>
    openRequests.review(access, kind).catch(err => log.error({ err }, 'open requests could not be reviewed'))
  const repeat = (access: AccessConfig): void => {
    const reviewMs = access.auth?.serviceAccounts?.reviewMs
    if (reviewMs === undefined || signal.aborted) return
    const own = clock.after(Math.max(MIN_LATE_MS, reviewMs / LATE_PART), async () => {
      await review(access, 'serviceAccount')
      // Unless the config changed meanwhile.
      if (timer === own) repeat(access)
    })
    timer = own
  }
  for await (const { config } of served.watch(signal)) {
    timer?.cancel()
    timer = undefined
    await review(config.access)
    repeat(config.access)
  }
  timer?.cancel()
  timer = undefined
}
