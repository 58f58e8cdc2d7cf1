/** Finds the routers of a gateway: the addresses of a DNS name. */
import { lookup } from 'node:dns/promises'
import type { Clock } from '../../core/async.ts'
import { originAt } from './owner.ts'

/** Each lookup may take several queries. */
const LOOKUP_EVERY_MS = 5_000

/** The function returned finds the origins of the other routers' admin ports. It rejects if the DNS name has no address. `own`: this router's address. */
export function createPeers(
  { name, port, own }: { name: string; port: number; own: string | undefined },
  clock: Clock,
): () => Promise<readonly string[]> {
  let last: { at: number; origins: readonly string[] } | undefined
  return async () => {
    if (last && clock.elapsed() - last.at < LOOKUP_EVERY_MS) return last.origins
    const found = await lookup(name, { all: true })
    const others = found.map(({ address }) => address).filter(address => address !== own)
    last = { at: clock.elapsed(), origins: others.sort().map(address => originAt(address, port)) }
    return last.origins
  }
}
