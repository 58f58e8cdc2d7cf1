/** Counts o200k_base tokens in a worker thread that lives only while there is something to count. */
import { Worker } from 'node:worker_threads'
import { type Clock, systemClock, type Timer } from './async.ts'
import { Fault } from './errors.ts'
import type { JsonValue } from './json.ts'

/** The tokenizer's tables cost 75 MB: the worker that holds them ends after this long without work. */
const IDLE_MS = 2_000

export type TokenCounter = {
  /** Tokens of each text, in order. Throws Fault `unavailable` if the worker fails. */
  count(texts: readonly string[]): Promise<number[]>
  close(): Promise<void>
}

/** The text of a tool as an agent's context contains it: its tokens are the tool's cost. */
export function toolText(tool: { name: string; description?: JsonValue; inputSchema?: JsonValue }): string {
  return JSON.stringify({ name: tool.name, description: tool.description, inputSchema: tool.inputSchema })
}

type Waiting = { resolve: (counts: number[]) => void; reject: (error: Fault) => void }
type Running = { worker: Worker; waiting: Map<number, Waiting> }

/** The worker starts with the first count. */
export function createTokenCounter(clock: Clock = systemClock): TokenCounter {
  let running: Running | undefined
  let idle: Timer | undefined
  let nextId = 1

  const end = async () => {
    idle?.cancel()
    const ending = running
    running = undefined
    await ending?.worker.terminate()
  }
  const settled = () => {
    if (running?.waiting.size !== 0) return
    // An idle worker does not keep the process alive.
    running.worker.unref()
    idle = clock.after(IDLE_MS, () => void end())
  }

  return {
    count(texts) {
      if (texts.length === 0) return Promise.resolve([])
      idle?.cancel()
      running ??= startWorker(settled, failed => {
        if (running === failed) running = undefined
      })
      const id = nextId++
      const { worker, waiting } = running
      worker.ref()
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject })
        worker.postMessage({ id, texts })
      })
    },
    close: end,
  }
}

function startWorker(settled: () => void, failed: (which: Running) => void): Running {
  const waiting = new Map<number, Waiting>()
  const worker = new Worker(new URL('./token-worker.ts', import.meta.url), { execArgv: [], env: {} })
  const running = { worker, waiting }
  worker.on('message', ({ id, counts }: { id: number; counts: number[] }) => {
    waiting.get(id)?.resolve(counts)
    waiting.delete(id)
    settled()
  })
  const fail = (cause: unknown) => {
    failed(running)
    for (const { reject } of waiting.values())
      reject(new Fault('unavailable', 'The token counter failed', { cause }))
    waiting.clear()
  }
  worker.on('error', fail)
  worker.on('exit', fail)
  return running
}
