/** The bearer tokens of bridges while they are rotated. */
import { BoundedMap } from '../../bounded-map.ts'

const MAX_BRIDGES = 20_000

/** `former` is what `now` replaced. */
type Pair = { now: string; former?: string }

/**
 * The kubelet brings a new token to the bridge's file up to two minutes after it reached us. Until then the bridge admits only the
 * former one, and afterwards the former one for a while.
 */
export class Bearers {
  readonly #pairs = new BoundedMap<Pair>(MAX_BRIDGES)

  /** The token to send to the bridge at `url`, whose newest is `now`; undefined if there is none but the one that it `rejected`. */
  of(url: string, now: string, rejected: string | undefined): string | undefined {
    const last = this.#pairs.get(url)
    const pair = last?.now === now ? last : { now, former: last?.now }
    this.#pairs.set(url, pair)
    return [pair.now, pair.former].find(token => token !== rejected)
  }
}
