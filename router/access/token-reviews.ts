/** Asks the API server about ServiceAccount tokens, and remembers its answers for a time: it also knows whether the pod of a token still exists. */
import { hash } from 'node:crypto'
import type { Clock } from '../../core/async.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import { messageOf } from '../../core/errors.ts'
import type { TokenVerdict } from '../../core/kube/token-review.ts'
import type { Log } from '../../core/log.ts'
import { type Refused, refused } from './bearer.ts'

export type TokenReviews = {
  /**
   * Until when the token needs no other review, in milliseconds since the epoch, or why it is refused. Asks the API server if the last
   * answer is older than `maxAgeMs`, once however many callers wait for it. Never rejects.
   */
  review(token: string, expected: ExpectedReview): Promise<{ untilMs: number } | Refused>
}

export type ExpectedReview = { subject: string; audiences: readonly string[]; maxAgeMs: number }

export type TokenReviewsOptions = {
  /** Asks the API server. */
  ask: (token: string, audiences: readonly string[]) => Promise<TokenVerdict>
  clock: Clock
  log: Log
}

type Verdict = 'accepted' | 'denied' | 'unavailable'
/** `askedMs`: before the question was sent, since the pod may be deleted while the answer is on its way. */
type Reviewed = { askedMs: number; verdict: Verdict }

/** Answers that are remembered, by the tokens' hashes; the least recently used are forgotten first. */
const MAX_REMEMBERED = 10_000
/** After how long a token that was not accepted may be asked about again. A denied one stays denied, unless the API server itself had a problem. */
const PAUSE_MS: Record<Exclude<Verdict, 'accepted'>, number> = { denied: 10_000, unavailable: 1_000 }

const DENIED = refused(
  'ReviewDenied',
  'The API server no longer accepts the token: the pod or the ServiceAccount that it belongs to was deleted.',
)
/** The last good answer is not used instead: it is older than the gateway's manifest allows, and would admit deleted pods. */
const UNAVAILABLE: Refused = {
  status: 503,
  reason: 'ReviewUnavailable',
  message: 'The API server cannot be asked about the token now; try again in a moment.',
}

export function createTokenReviews({ ask, clock, log }: TokenReviewsOptions): TokenReviews {
  const remembered = new BoundedMap<Reviewed>(MAX_REMEMBERED)
  const asking = new Map<string, Promise<Reviewed>>()
  let isAway = false

  const logOutcome = (error?: unknown): void => {
    if (error !== undefined && !isAway)
      log.warn(
        { error: messageOf(error) },
        'the API server does not review tokens: ServiceAccounts are refused (503) until it does',
      )
    if (error === undefined && isAway) log.info('the API server reviews tokens again')
    isAway = error !== undefined
  }

  const askNow = async (token: string, { subject, audiences }: ExpectedReview): Promise<Reviewed> => {
    const askedMs = clock.now()
    try {
      const answer = await ask(token, audiences)
      logOutcome()
      return { askedMs, verdict: isAccepted(answer, subject, audiences) ? 'accepted' : 'denied' }
    } catch (error) {
      logOutcome(error)
      return { askedMs, verdict: 'unavailable' }
    }
  }

  return {
    async review(token, expected) {
      const key = hash('sha256', JSON.stringify([token, expected.audiences]), 'base64')
      const known = remembered.get(key)
      if (known && isFresh(known, expected.maxAgeMs, clock.now())) {
        remembered.set(key, known)
        return resultOf(known, expected.maxAgeMs)
      }
      let asked = asking.get(key)
      if (!asked) {
        asked = askNow(token, expected).finally(() => asking.delete(key))
        asking.set(key, asked)
      }
      const found = await asked
      remembered.set(key, found)
      return resultOf(found, expected.maxAgeMs)
    },
  }
}

/** Without a common audience the API server has vouched for the token to itself only, and not to this gateway. */
function isAccepted(answer: TokenVerdict, subject: string, asked: readonly string[]): boolean {
  const { authenticated, audiences, username } = answer
  return authenticated && username === subject && audiences.some(audience => asked.includes(audience))
}

/** Whether an answer can still be used. Not if the clock was set back: then nobody knows how old the answer is. */
function isFresh({ askedMs, verdict }: Reviewed, maxAgeMs: number, nowMs: number): boolean {
  const lifeMs = verdict === 'accepted' ? maxAgeMs : Math.min(maxAgeMs, PAUSE_MS[verdict])
  return nowMs >= askedMs && nowMs < askedMs + lifeMs
}

function resultOf({ askedMs, verdict }: Reviewed, maxAgeMs: number): { untilMs: number } | Refused {
  switch (verdict) {
    case 'accepted':
      return { untilMs: askedMs + maxAgeMs }
    case 'denied':
      return DENIED
    case 'unavailable':
      return UNAVAILABLE
  }
}
