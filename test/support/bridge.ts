/** A bridge in this process, with real child processes, for tests. */
import type { TestContext } from 'node:test'
import { type Bridge, type BridgeOptions, startBridge } from '../../bridge/bridge.ts'
import { type Clock, systemClock } from '../../core/async.ts'
import { createLog } from '../../core/log.ts'
import { rudeCommand } from '../upstreams/rude/rude.ts'
import { until } from './until.ts'

export type TestBridge = Bridge & {
  url: string
  origin: string
  /** The HTTP status of /readyz. */
  readiness(): Promise<number>
  /** Waits until /readyz has this status. */
  untilReadiness(status: number): Promise<true>
}

export type TestBridgeOptions = Partial<BridgeOptions> & {
  /** The mode of the rude server; see modes.mjs. */
  mode?: string
  clock?: Clock
  /** Do not wait for the first child to be ready. */
  impatient?: boolean
}

/** Listens on a free port until the test ends. */
export async function startTestBridge(t: TestContext, options: TestBridgeOptions = {}): Promise<TestBridge> {
  const { mode = 'polite', clock = systemClock, impatient = false, host = '127.0.0.1', ...rest } = options
  const bridge = await startBridge(
    {
      host,
      port: 0,
      name: 'rude',
      sessions: 'shared',
      idleAfterMs: 60_000,
      command: { ...rudeCommand(mode), startTimeoutMs: 10_000 },
      ...rest,
    },
    { clock, log: createLog({ level: 'silent' }), random: () => 0 },
  )
  t.after(() => bridge.close(0))
  const origin = `http://${host.includes(':') ? `[${host}]` : host}:${bridge.port}`
  const readiness = async () => (await fetch(`${origin}/readyz`)).status
  const untilReadiness = (status: number) =>
    until(`readiness is ${status}`, async () => (await readiness()) === status)
  if (!impatient) await untilReadiness(200)
  return { ...bridge, url: `${origin}/mcp`, origin, readiness, untilReadiness }
}
