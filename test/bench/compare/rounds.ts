/** Loads several targets in turn, in several rounds, so that disturbances of the machine affect all of them; returns the medians. */
import { type LoadResult, load, type Target } from '../load.ts'
import { quantile } from '../row.ts'

export type Named = Target & { name: string }

export type Rounds = { connections: number; rounds: number; seconds: number }

/** Returns results by the target's name. */
export async function loadInTurn(
  targets: readonly Named[],
  { connections, rounds, seconds }: Rounds,
): Promise<Map<string, LoadResult>> {
  const runs = new Map<string, LoadResult[]>(targets.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round++)
    for (const target of targets) runs.get(target.name)?.push(await load(target, connections, seconds))
  return new Map([...runs].map(([name, results]) => [name, median(results)]))
}

function median(results: readonly LoadResult[]): LoadResult {
  const of = (key: keyof LoadResult) =>
    quantile(
      results.map(result => result[key]),
      0.5,
    )
  return {
    callsPerSecond: of('callsPerSecond'),
    p50: of('p50'),
    p99: of('p99'),
    cpuMicros: of('cpuMicros'),
    failed: Math.max(...results.map(result => result.failed)),
  }
}
