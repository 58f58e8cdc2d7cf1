/** The thread that holds the model, seen from the others: started on need, and anew where it failed. */
import { Worker } from 'node:worker_threads'
import type { SearchText } from '../catalog/search-text.ts'
import type { Vector } from '../catalog/vectors.ts'
import { Fault } from '../errors.ts'

/** The model itself, 15 MB, is no part of the heap. A small young generation is enough, and kept small. */
const HEAP_LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 }

/** A query is answered ahead of texts, also of those half done. At most one question of each kind may wait for its answer. */
export type Question = { query: string } | { texts: Pick<SearchText, 'full' | 'name'>[] }
export type Asked = { id: number; question: Question }
export type Answer = { id: number; vectors?: Vector[]; failure?: string }
/** What the thread says first. */
export type Readiness = { failure?: string }

export type EncoderThread = {
  /** Waits until the model is loaded. Throws Fault `io` where it cannot be. */
  ready(): Promise<void>
  /** A vector for the query, or for each text. Throws Fault `unavailable`, or `io` where there is no model. */
  ask(question: Question): Promise<Vector[]>
  close(): Promise<void>
}

type Running = Pick<EncoderThread, 'ask' | 'close'>

/** `onLost`: the thread failed, and cannot be started anew. `script` is another one in tests alone. */
export function createEncoderThread(
  modelFile: string,
  onLost: () => void = () => {},
  script = new URL('./encoder-worker.ts', import.meta.url),
): EncoderThread {
  let running: Promise<Running> | undefined
  let closed = false
  const run = (): Promise<Running> => {
    if (closed) return Promise.reject(new Fault('unavailable', 'The sentence encoder is closed'))
    if (running) return running
    const starting = startWorker(script, modelFile, () => {
      if (running === starting) running = undefined
    })
    running = starting
    return starting
  }
  return {
    async ready() {
      await run()
    },
    async ask(question) {
      const worker = await run().catch(error => {
        onLost()
        throw error
      })
      return worker.ask(question)
    },
    async close() {
      closed = true
      await running?.then(
        worker => worker.close(),
        () => undefined,
      )
    },
  }
}

/** `ended` is called as soon as nothing more can be asked of it, perhaps twice. */
function startWorker(script: URL, modelFile: string, ended: () => void): Promise<Running> {
  const options = { execArgv: [], env: {}, workerData: { modelFile }, resourceLimits: HEAP_LIMITS }
  const worker = new Worker(script, options)
  const { promise, resolve, reject } = Promise.withResolvers<Running>()
  const waiting = new Map<number, PromiseWithResolvers<Vector[]>>()
  const fail = (cause: unknown) => {
    ended()
    const fault = new Fault('unavailable', 'The sentence encoder failed', { cause, retryable: true })
    reject(fault)
    for (const { reject } of waiting.values()) reject(fault)
    waiting.clear()
  }
  worker.on('error', fail)
  worker.on('exit', fail)
  worker.once('message', ({ failure }: Readiness) => {
    if (failure === undefined) return resolve(conversation(worker, waiting))
    ended()
    reject(new Fault('io', failure))
    void worker.terminate()
  })
  return promise
}

/** The worker keeps the process alive only while somebody waits for it. */
function conversation(worker: Worker, waiting: Map<number, PromiseWithResolvers<Vector[]>>): Running {
  let nextId = 1
  worker.on('message', ({ id, vectors, failure }: Answer) => {
    const asker = waiting.get(id)
    waiting.delete(id)
    if (waiting.size === 0) worker.unref()
    if (vectors) asker?.resolve(vectors)
    else asker?.reject(new Fault('unavailable', `The sentence encoder failed: ${failure}`))
  })
  worker.unref()
  return {
    ask(question) {
      const asker = Promise.withResolvers<Vector[]>()
      const id = nextId++
      worker.postMessage({ id, question } satisfies Asked)
      worker.ref()
      waiting.set(id, asker)
      return asker.promise
    },
    async close() {
      await worker.terminate()
    },
  }
}
