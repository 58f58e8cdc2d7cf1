/** Finds the addresses of the API server, so that connections to upstreams at these addresses can be refused. */
import { lookup } from 'node:dns/promises'
import { type Clock, delay } from '../async.ts'
import { Fault, messageOf } from '../errors.ts'

/** How long a failing lookup is repeated: DNS may not answer yet while a cluster starts. */
const LIMIT_MS = 10_000
const PAUSE_MS = 1_000

type Lookup = (host: string) => Promise<{ address: string }[]>

/**
 * `host`: KUBERNETES_SERVICE_HOST, an address or, in some clusters, a name; empty outside of clusters. Throws Fault `bad_request` if the
 * name has no address: without it, an upstream at the address of the API server could not be refused.
 */
export async function apiServerAddresses(
  host: string | undefined,
  clock: Clock,
  find: Lookup = name => lookup(name, { all: true }),
): Promise<string[]> {
  if (!host) return []
  const begun = clock.elapsed()
  // Keeps the process alive: the clock's timers do not, and nothing else does at this point of the start.
  const hold = setInterval(() => {}, PAUSE_MS)
  try {
    for (;;) {
      const found = await find(host).catch(error => {
        if (!isTemporary(error) || clock.elapsed() - begun >= LIMIT_MS) throw withoutAddress(error)
      })
      if (found) return found.map(({ address }) => address)
      await delay(clock, PAUSE_MS)
    }
  } finally {
    clearInterval(hold)
  }
}

function isTemporary(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAI_AGAIN'
}

function withoutAddress(cause: unknown): Fault {
  const message = `KUBERNETES_SERVICE_HOST must be an address, or a name that has one: ${messageOf(cause)}`
  return new Fault('bad_request', message, { cause })
}
