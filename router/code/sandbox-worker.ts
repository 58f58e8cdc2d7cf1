/** The worker thread of sandboxes, a separate entry point that sandbox-threads.ts starts: runs one script at a time. */
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { createGuestMachine, type GuestMachine } from './guest-machine.ts'
import {
  type FromThread,
  KINDS,
  MAX_ERROR_CHARACTERS,
  MAX_PATH_CHARACTERS,
  MAX_SLEEP_BYTES,
  MAX_SLEEPS,
  OpenRequests,
  type RunMessage,
  type SandboxOutcome,
  type SandboxRequest,
  type ThreadData,
  type ToThread,
} from './sandbox-messages.ts'

/** Nice 10: a tenth of the weight of other threads. With 19, scripts would hardly run on a busy machine. */
const LESS_IMPORTANT = 10

type Running = {
  run: number
  machine: GuestMachine
  /** Ends a request to which the reply has come. */
  close(call: number): void
  /** UTF-8 bytes of the JSON that it may return. */
  resultBytes: number
  /** Sends the requests of the script, and its outcome if it has ended. */
  tell(outcome: SandboxOutcome | undefined): void
}

const loaded = Promise.withResolvers<ThreadData>()
let running: Running | undefined
let isLessImportant = false

parentPort?.on('message', (message: ToThread) => {
  if ('wasm' in message) loaded.resolve(message)
  else if ('source' in message) void start(message)
  else if (running?.run === message.run) {
    running.close(message.call)
    proceed(running, machine => machine.settle(message.call, message.reply))
  }
})

/**
 * Lowers the priority of this thread, so that calls of others come before scripts that compute. Called when the first script runs, so that
 * the start of the thread is not slowed. Only Linux has a priority for each thread.
 */
function yieldToOthers(): void {
  if (isLessImportant) return
  isLessImportant = true
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    if (Number.isInteger(thread)) setPriority(thread, LESS_IMPORTANT)
  } catch {
    // Then all threads of the process have the same priority.
  }
}

async function start(message: RunMessage): Promise<void> {
  const { run, limits } = message
  /** Bytes of each request without a reply. */
  const open = new Map<number, number>()
  const requested = new OpenRequests()
  let requests: SandboxRequest[] = []
  let logged = ''
  let loggedCharacters = 0
  let calls = 0
  let sleeps = 0
  const host = {
    send(call: number, kind: string, path: string, args: string): string | undefined {
      const known = KINDS.find(one => one === kind)
      if (!known || path.length > MAX_PATH_CHARACTERS)
        return refusal(path, 'rejected', 'there is no such tool')
      const mostBytes = known === 'sleep' ? MAX_SLEEP_BYTES : limits.argumentBytes
      if (Buffer.byteLength(args) > mostBytes)
        return refusal(path, 'too_large', `its arguments are larger than ${mostBytes} bytes`)
      if (known !== 'sleep' && calls >= limits.calls)
        return refusal(path, 'rejected', `a script may make ${limits.calls} calls`)
      if (known === 'sleep' && sleeps >= MAX_SLEEPS)
        return refusal(path, 'rejected', `a script may sleep ${MAX_SLEEPS} times`)
      const added = requested.add({ path, args })
      if ('refusal' in added) return refusal(path, 'too_large', added.refusal)
      if (known === 'sleep') sleeps++
      else calls++
      open.set(call, added.bytes)
      requests.push({ call, kind: known, path, args })
      return undefined
    },
    log(line: string) {
      const room = limits.logCharacters - loggedCharacters
      if (room <= 0) return
      loggedCharacters += line.length + 1
      logged += line.length < room ? `${line}\n` : `${line.slice(0, room)}…\n`
    },
  }
  const close = (call: number) => {
    requested.remove(open.get(call) ?? 0)
    open.delete(call)
  }
  const tell = (outcome: SandboxOutcome | undefined) => {
    const sandboxMs = running?.machine.sandboxMs() ?? 0
    const memoryBytes = running?.machine.memoryBytes() ?? 0
    const report: FromThread = { run, memoryBytes, requests, logged, sandboxMs, ...(outcome && { outcome }) }
    requests = []
    logged = ''
    if (outcome) running = undefined
    parentPort?.postMessage(report)
  }
  try {
    const machine = await createGuestMachine(await loaded.promise, message, host, () => open.size)
    running = { run, machine, close, resultBytes: limits.resultBytes, tell }
    yieldToOthers()
    parentPort?.postMessage({ run, requests: [], logged: '', sandboxMs: 0 } satisfies FromThread)
    proceed(running, () => machine.start())
  } catch (error) {
    tell({ kind: 'failed', message: String(error).slice(0, MAX_ERROR_CHARACTERS) })
  }
}

/** Continues a script and reports about it. After a trap of WebAssembly, such as a stack overflow, the instance is unusable, so the script has ended. */
function proceed(
  { machine, resultBytes, tell }: Running,
  step: (machine: GuestMachine) => SandboxOutcome | undefined,
): void {
  let outcome: SandboxOutcome | undefined
  try {
    outcome = step(machine)
  } catch {
    outcome = { kind: 'memory' }
  }
  const isTooLarge = outcome?.kind === 'returned' && Buffer.byteLength(outcome.json ?? '') > resultBytes
  tell(isTooLarge ? { kind: 'threw', error: tooLarge(resultBytes) } : outcome)
}

function tooLarge(bytes: number) {
  return { name: 'RangeError', message: `the returned value is larger than ${bytes} bytes: return less` }
}

/** The error of a refused request, as JSON. */
function refusal(tool: string, kind: string, why: string): string {
  const name = tool.slice(0, MAX_PATH_CHARACTERS)
  return JSON.stringify({ message: `${name} was not called: ${why}.`, tool: name, kind })
}
