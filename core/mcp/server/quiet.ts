/** Waits until a server's connections can be closed without losing requests that are still arriving. */
import type { Server } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { type Clock, delay } from '../../async.ts'

export type Quiet = {
  /** Resolves once no connection and no request has arrived for a second, at the latest after `limitMs`. */
  wait(limitMs: number): Promise<void>
}

const QUIET_MS = 1_000
/**
 * In each turn of the event loop, timers run before I/O: after a time without CPU, a timer fires before arrived data is read. A new
 * connection, its request and the rest of the request take one turn each.
 */
const TURNS = 3

/** Notes the connections and requests of a server from now on. */
export function watchQuiet(server: Server, clock: Clock): Quiet {
  let lastMs = Number.NEGATIVE_INFINITY
  const heard = () => {
    lastMs = clock.elapsed()
  }
  server.on('connection', heard)
  server.on('request', heard)
  return {
    async wait(limitMs) {
      const endMs = clock.elapsed() + limitMs
      for (;;) {
        for (let turns = 0; turns < TURNS; turns++) await turn()
        const restMs = Math.min(lastMs + QUIET_MS, endMs) - clock.elapsed()
        if (restMs <= 0) return
        await delay(clock, restMs)
      }
    },
  }
}
