/** Measures the latency of requests at an even rate, like those of many agents. (autocannon would send those of each second in a burst.) */
import { setTimeout as wait } from 'node:timers/promises'
import { Pool } from 'undici'
import { MCP_HEADERS } from '../support/mcp.ts'
import { quantile } from './row.ts'

const CONNECTIONS = 16

export type Paced = { p50: number; p99: number; failed: number }

/** Sends `bodies` in turn, `rate` per second for `seconds`. Each is sent at its time, even if earlier ones have not been answered. */
export async function pacedLoad(
  url: string,
  bodies: readonly string[],
  rate: number,
  seconds: number,
  headersAt: (turn: number) => Record<string, string> = () => ({}),
): Promise<Paced> {
  const { origin, pathname: path } = new URL(url)
  const pool = new Pool(origin, { connections: CONNECTIONS })
  const times: number[] = []
  let failed = 0
  const ask = async (turn: number): Promise<void> => {
    const headers = { ...MCP_HEADERS, ...headersAt(turn) }
    const body = bodies[turn % bodies.length] as string
    const sent = performance.now()
    try {
      const answer = await pool.request({ path, method: 'POST', headers, body })
      await answer.body.text()
      if (answer.statusCode !== 200) failed++
    } catch {
      failed++
    }
    times.push(performance.now() - sent)
  }
  const asked: Promise<void>[] = []
  const started = performance.now()
  for (let turn = 0; turn < rate * seconds; turn++) {
    const dueMs = started + (turn * 1_000) / rate - performance.now()
    if (dueMs > 1) await wait(dueMs)
    asked.push(ask(turn))
  }
  await Promise.all(asked)
  await pool.close()
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), failed }
}
