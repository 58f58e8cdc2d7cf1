/** The worker thread that holds the model: starts it when needed, restarts it after a crash, and sends requests to it. */
import { Worker } from 'node:worker_threads'
import type { SearchText } from '../catalog/search-text.ts'
import type { Vector } from '../catalog/vectors.ts'
import { Fault } from '../errors.ts'

/** The model itself (15 MB) is outside of the V8 heap, so a small heap is enough. */
const HEAP_LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 }

/** A query is encoded before texts, even if some of these are already encoded. At most one request of each kind may be pending. */
export type EncodeRequest = { query: string } | { texts: Pick<SearchText, 'full' | 'name'>[] }
export type RequestMessage = { id: number; request: EncodeRequest }
export type ReplyMessage = { id: number; vectors?: Vector[]; failure?: string }
/** The first message of the thread; `failure` says why it cannot work. */
export type ReadyMessage = { failure?: string }

export type EncoderThread = {
  /** Waits until the model is loaded. Throws Fault `io` if it cannot be. */
  ready(): Promise<void>
  /** A vector for the query, or for each text. Throws Fault `unavailable`, or `io` if there is no model. */
  encode(request: EncodeRequest): Promise<Vector[]>
  close(): Promise<void>
}

type Running = Pick<EncoderThread, 'encode' | 'close'>

/** `onLost` is called if the thread cannot be started, or restarted. `script` is for tests. */
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
    async encode(request) {
      const worker = await run().catch(error => {
        onLost()
        throw error
      })
      return worker.encode(request)
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

/** `ended` is called as soon as the worker accepts no more requests, perhaps twice. */
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
  worker.once('message', ({ failure }: ReadyMessage) => {
    if (failure === undefined) return resolve(connect(worker, waiting))
    ended()
    reject(new Fault('io', failure))
    void worker.terminate()
  })
  return promise
}

/** Sends requests and dispatches replies. The worker keeps the process alive only while a request is pending. */
function connect(worker: Worker, waiting: Map<number, PromiseWithResolvers<Vector[]>>): Running {
  let nextId = 1
  worker.on('message', ({ id, vectors, failure }: ReplyMessage) => {
    const caller = waiting.get(id)
    waiting.delete(id)
    if (waiting.size === 0) worker.unref()
    if (vectors) caller?.resolve(vectors)
    else caller?.reject(new Fault('unavailable', `The sentence encoder failed: ${failure}`))
  })
  worker.unref()
  return {
    encode(request) {
      const caller = Promise.withResolvers<Vector[]>()
      const id = nextId++
      worker.postMessage({ id, request } satisfies RequestMessage)
      worker.ref()
      waiting.set(id, caller)
      return caller.promise
    },
    async close() {
      await worker.terminate()
    },
  }
}
