/** When open requests are reviewed: at each change of the config and, where ServiceAccounts are reviewed, shortly after a review is due. */
import type { Clock, Timer } from '../../core/async.ts'
import type { AccessConfig } from '../../core/catalog/access-config.ts'
import type { Log } from '../../core/log.ts'
import type { IdentityKind } from '../../core/mcp/identity.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Newest } from '../source/newest.ts'
import type { OpenRequests } from './open-requests.ts'

export type OpenRequestReviewsOptions = { served: Newest<Catalog>; clock: Clock; log: Log }

/** Requests of ServiceAccounts are reviewed this many times in each `reviewMs`, so a deleted pod's stream ends late by this part at most. Each review costs a look-up for each. */
const LATE_PART = 10
const MIN_LATE_MS = 1_000

/** Reviews open requests until `signal` aborts. */
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
    const started = clock.after(Math.max(MIN_LATE_MS, reviewMs / LATE_PART), async () => {
      await review(access, 'serviceAccount')
      // Unless the config changed meanwhile.
      if (timer === started) repeat(access)
    })
    timer = started
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
