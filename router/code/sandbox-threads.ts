/** The threads of sandboxes: starts a thread when a script needs one, ends it if the script exceeds its limits, and keeps one spare thread. */
import { readFile } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../../core/async.ts'
import {
  type FromThread,
  isFromThread,
  type RunMessage,
  type SandboxLimits,
  type SandboxOutcome,
  type SandboxReply,
  type SandboxRequest,
  type ThreadData,
  type ToThread,
} from './sandbox-messages.ts'

export type SandboxRun = {
  source: string
  /** JSON of the script's `input`; absent: undefined. */
  input?: string
  limits: SandboxLimits
  /** Carries out a request; never rejects. Replies to a script that has ended are dropped. */
  answer(request: SandboxRequest): Promise<SandboxReply>
  /** Ends the script and its thread. */
  signal: AbortSignal
}

/** The report about a script that has ended. `sandboxMs`: how long the script itself ran. */
export type SandboxReport = {
  outcome: SandboxOutcome
  logged: string
  sandboxMs: number
  memoryBytes: number
}

/** Runs scripts in isolation. Another implementation may use processes. */
export type Sandboxes = {
  /** Never rejects. */
  run(run: SandboxRun): Promise<SandboxReport>
  /** Starts a thread for a script that is expected soon, unless there is a spare one. */
  warm(): void
  close(): Promise<void>
}

/**
 * The memory of scripts is outside of the V8 heap, which holds only messages. Once the memories of ended scripts, 16 MB each, come to
 * half of the heap's limit, V8 collects all garbage before it continues; with a limit of 64 MB every second script waited 10 ms for that.
 */
const HEAP_LIMITS = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 4, stackSizeMb: 16 }
/** A thread is replaced after this many scripts, in case it keeps memory of ended ones. */
const MAX_RUNS = 50
const SPARE_IDLE_MS = 60_000
/** After a script that took more memory its thread is ended, since that gives the memory back at once. */
const MAX_SPARE_BYTES = 24 * 1024 * 1024
/** A thread reports when its script's time is used up, but not while one of the interpreter's built-in functions runs. After this time it is ended. */
const GRACE_MS = 500
/** On a machine that is not overloaded, a busy thread gets at least a third of the time: a script may take this many times its limit of CPU time. */
const WAITING_SHARE = 3
/** Enough to start the thread and the interpreter on an overloaded machine. */
const START_MS = 30_000

/** `listener`: the script that runs on it; undefined while it is spare. */
type Thread = { worker: Worker; runs: number; idle?: Timer; listener?: Listener }

type Listener = { received(message: unknown): void; ended(outcome: SandboxOutcome): void }

const WORKER = new URL('./sandbox-worker.ts', import.meta.url)

/** `entry`: the worker's program. */
export function createSandboxThreads(clock: Clock, entry = WORKER): Sandboxes {
  const load = createLoader()
  let spare: Thread | undefined
  let closed = false
  let lastRun = 0
  const busy = new Set<Thread>()
  const ending = new Set<Promise<unknown>>()

  const end = (thread: Thread) => {
    if (spare === thread) spare = undefined
    thread.idle?.cancel()
    const ended: Promise<unknown> = thread.worker.terminate().finally(() => ending.delete(ended))
    ending.add(ended)
  }
  const keep = (thread: Thread) => {
    thread.worker.unref()
    thread.idle = clock.after(SPARE_IDLE_MS, () => end(thread))
    spare = thread
  }
  const take = (): Thread => {
    const thread = spare ?? startThread(entry, load, end)
    thread.idle?.cancel()
    spare = undefined
    busy.add(thread)
    thread.worker.ref()
    return thread
  }
  const giveBack = (thread: Thread, isSound: boolean) => {
    busy.delete(thread)
    thread.listener = undefined
    if (!isSound || closed || spare || ++thread.runs >= MAX_RUNS) return end(thread)
    keep(thread)
  }

  return {
    async run(given) {
      if (closed) return unstarted({ kind: 'failed', message: 'the sandboxes are closed' })
      if (given.signal.aborted) return unstarted({ kind: 'aborted' })
      const thread = take()
      const report = await runOn(thread, ++lastRun, given, clock)
      const { outcome, memoryBytes } = report
      const endedItself = outcome.kind === 'returned' || outcome.kind === 'threw'
      giveBack(thread, endedItself && memoryBytes <= MAX_SPARE_BYTES)
      return report
    },
    warm() {
      if (!closed && !spare && busy.size === 0) keep(startThread(entry, load, end))
    },
    async close() {
      closed = true
      for (const thread of [...busy, ...(spare ? [spare] : [])]) end(thread)
      await Promise.all(ending)
    },
  }
}

/** Reads once what threads need; tries again after a failure. */
function createLoader(): () => Promise<ThreadData> {
  let data: Promise<ThreadData> | undefined
  return () => {
    data ??= readThreadData().catch(error => {
      data = undefined
      throw error
    })
    return data
  }
}

function unstarted(outcome: SandboxOutcome): SandboxReport {
  return { outcome, logged: '', sandboxMs: 0, memoryBytes: 0 }
}

async function readThreadData(): Promise<ThreadData> {
  const [bytes, guest] = await Promise.all([
    readFile(
      new URL(
        '../../node_modules/@jitl/quickjs-wasmfile-release-sync/dist/emscripten-module.wasm',
        import.meta.url,
      ),
    ),
    readFile(new URL('./guest.js', import.meta.url), 'utf8'),
  ])
  return { wasm: await WebAssembly.compile(bytes), guest }
}

/** `load`: compiles the interpreter, while the thread starts. `lost` is called if the thread ends while no script runs on it. */
function startThread(entry: URL, load: () => Promise<ThreadData>, lost: (thread: Thread) => void): Thread {
  const worker = new Worker(entry, {
    env: {},
    argv: [],
    execArgv: [],
    stdin: false,
    stdout: true,
    stderr: true,
    resourceLimits: HEAP_LIMITS,
    trackUnmanagedFds: true,
  })
  // What the thread prints is dropped.
  worker.stdout.resume()
  worker.stderr.resume()
  const thread: Thread = { worker, runs: 0 }
  const ended = (outcome: SandboxOutcome) => (thread.listener ? thread.listener.ended(outcome) : lost(thread))
  worker.on('message', message => thread.listener?.received(message))
  worker.on('error', error => ended(failureOf(error)))
  worker.on('exit', () => ended({ kind: 'failed', message: 'the thread ended' }))
  load().then(
    data => worker.postMessage(data),
    error => ended(failureOf(error)),
  )
  return thread
}

/** Runs one script on a thread that runs no other. */
function runOn(thread: Thread, run: number, given: SandboxRun, clock: Clock): Promise<SandboxReport> {
  const { source, input, limits, answer, signal } = given
  const { promise, resolve } = Promise.withResolvers<SandboxReport>()
  let logged = ''
  let sandboxMs = 0
  let memoryBytes = 0
  let watch: Timer | undefined
  let isOver = false
  /** Messages that the thread has not answered yet: while there are any, the script may be running. */
  let unanswered = 0

  const finish = (outcome: SandboxOutcome) => {
    isOver = true
    watch?.cancel()
    signal.removeEventListener('abort', onAbort)
    resolve({ outcome, logged, sandboxMs, memoryBytes })
  }
  const onAbort = () => finish({ kind: 'aborted' })
  const endWithin = (ms: number) => {
    watch?.cancel()
    watch = clock.after(ms, () => finish({ kind: 'time' }))
  }
  const leftMs = () => WAITING_SHARE * (limits.sandboxMs - sandboxMs) + GRACE_MS
  const post = (message: ToThread) => {
    if (unanswered++ === 0) endWithin('source' in message ? START_MS : leftMs())
    thread.worker.postMessage(message)
  }
  const accept = (report: FromThread) => {
    if (report.memoryBytes === undefined) return endWithin(leftMs())
    if (--unanswered === 0) watch?.cancel()
    memoryBytes = report.memoryBytes
    sandboxMs = report.sandboxMs
    logged = (logged + report.logged).slice(0, limits.logCharacters + 2)
    if (report.outcome) return finish(report.outcome)
    for (const request of report.requests)
      void answer(request).then(reply => {
        if (!isOver) post({ run, call: request.call, reply })
      })
  }
  thread.listener = {
    received: message => {
      if (!isOver && isFromThread(message) && message.run === run) accept(message)
    },
    ended: finish,
  }
  signal.addEventListener('abort', onAbort)
  const first: RunMessage = { run, source, ...(input !== undefined && { input }), limits }
  post(first)
  return promise
}

function failureOf(error: Error): SandboxOutcome {
  if ((error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY') return { kind: 'memory' }
  return { kind: 'failed', message: error.message }
}
