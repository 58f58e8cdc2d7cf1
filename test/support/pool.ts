/** Pools of upstreams for tests, with a manual clock. */
import type { RouterConfig, RouterServer } from '../../core/catalog/router-config.ts'
import type { McpResponse } from '../../core/mcp/protocol/json-rpc.ts'
import type { UpstreamEvent } from '../../core/mcp/upstream.ts'
import { createPool } from '../../router/upstream/pool.ts'
import { type Answerer, serverOf, snapshotOf, upstreamOf } from '../meta/fixture.ts'
import { callOf } from './call.ts'
import { createManualClock } from './manual-clock.ts'

export const LIMITS = { callTimeoutMs: 60_000, startTimeoutMs: 30_000, concurrency: 2, maxResultBytes: 1_024 }

/** A pool with one server, `github`, whose upstreams answer by `answer`; `made` and `closed` list the upstreams as `github@revision`. */
export function start(answer: Answerer) {
  const clock = createManualClock()
  const made: string[] = []
  const closed: string[] = []
  const listeners: ((event: UpstreamEvent) => void)[] = []
  const connect = ({ name, endpoint }: RouterServer) => {
    const id = `${name}@${endpoint.revision}`
    made.push(id)
    return {
      ...upstreamOf(answer),
      onEvent: (listener: (event: UpstreamEvent) => void) => {
        listeners.push(listener)
        return () => {}
      },
      close: async () => void closed.push(id),
    }
  }
  const pool = createPool({ connect, clock })
  pool.update(config(serverOf('github', { limits: LIMITS })))
  return {
    pool,
    clock,
    made,
    closed,
    emit: (event: UpstreamEvent) => listeners.forEach(listener => void listener(event)),
  }
}

/** Upstreams that answer only when the test lets them; `order` lists the calls in the order of arrival. */
export function startPending() {
  const pending: PromiseWithResolvers<McpResponse>[] = []
  const order: unknown[] = []
  const started = start(({ params }) => {
    const answer = Promise.withResolvers<McpResponse>()
    pending.push(answer)
    order.push(params?.name)
    return answer.promise
  })
  return { ...started, pending, order }
}

export function call(pool: ReturnType<typeof createPool>, name = 'echo') {
  return pool.call('github', named(name), new AbortController().signal)
}

export const named = (name: string) => callOf({ params: { name } })

export function config(...servers: RouterServer[]): RouterConfig {
  return { ...snapshotOf({}, {}, 1).config, servers }
}

/** Lets everything that is ready run. */
export function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
