/** The bearer tokens of bridges while they are rotated. */
import { BoundedMap } from '../../bounded-map.ts'

const MAX_BRIDGES = 20_000

/** `former`: the token that `now` replaced. */
type Pair = { now: string; former?: string }

/**
 * Remembers the two newest tokens of each bridge. The kubelet updates the bridge's token file up to two minutes after we get the new
 * token. Until then the bridge accepts only the former token, which it also accepts for a while afterwards.
 */
export class Bearers {
  readonly #pairs = new BoundedMap<Pair>(MAX_BRIDGES)

  /** The token to send to the bridge at `url`; `now` is its newest token. Undefined if only the `rejected` token is known. */
  of(url: string, now: string, rejected: string | undefined): string | undefined {
    const last = this.#pairs.get(url)
    const pair = last?.now === now ? last : { now, former: last?.now }
    this.#pairs.set(url, pair)
    return [pair.now, pair.former].find(token => token !== rejected)
  }
}
