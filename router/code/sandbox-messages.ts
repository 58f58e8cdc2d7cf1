/** Messages between the main thread and a sandbox's thread. They contain only strings and numbers, whose size both sides limit. */
import { isObject } from '../../core/json.ts'

/** The limits of a script that its thread enforces. */
export type SandboxLimits = {
  /** Time in which the script itself runs, without waiting for calls. */
  sandboxMs: number
  memoryBytes: number
  /** Maximum number of requests, not counting `sleep`. */
  calls: number
  /** UTF-8 bytes of the JSON of one request's arguments. */
  argumentBytes: number
  /** UTF-8 bytes of the JSON that the script returns. */
  resultBytes: number
  /** Characters of all that it logs. */
  logCharacters: number
}

export const KINDS = ['call', 'raw', 'discover', 'read', 'keep', 'sleep'] as const

export type RequestKind = (typeof KINDS)[number]

/** A request of a script; `args` is JSON. */
export type SandboxRequest = { call: number; kind: RequestKind; path: string; args: string }

/** The reply to a request. `json`: the value, or the error `{message, tool, kind, result}`; absent: undefined. */
export type SandboxReply = { isValue: boolean; json?: string }

/** An error as the script threw it. All of it is the script's own text, and only shown. `line` and `column` begin at 1. */
export type GuestError = { name: string; message: string; line?: number; column?: number }

export type SandboxOutcome =
  /** `json`: of what it returned; absent: it returned undefined. `late`: requests that were open when it returned. */
  | { kind: 'returned'; json?: string; late: number }
  | { kind: 'threw'; error: GuestError }
  /** The script waits for a promise that can no longer be settled. */
  | { kind: 'stuck' }
  /** The script's time in the sandbox is used up. */
  | { kind: 'time' }
  /** The script's memory is used up, or its stack, in a way that it cannot catch. */
  | { kind: 'memory' }
  /** The signal aborted. */
  | { kind: 'aborted' }
  /** The thread could not be started, or ended by itself. */
  | { kind: 'failed'; message: string }

/** Starts a script, and replies to one of its requests. `run`: the number of the run; `input`: JSON, absent: undefined. */
export type RunMessage = { run: number; source: string; input?: string; limits: SandboxLimits }
export type ReplyMessage = { run: number; call: number; reply: SandboxReply }
export type ToThread = ThreadData | RunMessage | ReplyMessage

/** Sent when the interpreter is ready, and whenever the script pauses (it waits for the host) or ends. */
export type FromThread = {
  run: number
  /** Absent: the script has not begun. */
  memoryBytes?: number
  requests: SandboxRequest[]
  /** What was logged since the last message. */
  logged: string
  sandboxMs: number
  outcome?: SandboxOutcome
}

/** What a thread needs before its first script, created once by the main thread: the compiled interpreter, and the text of guest.js. */
export type ThreadData = { wasm: WebAssembly.Module; guest: string }

export const MAX_PATH_CHARACTERS = 500
/** Of the name and of the message of an error. */
export const MAX_ERROR_CHARACTERS = 2_000
/** How often a script may sleep: each pause takes a timer of the main thread. */
export const MAX_SLEEPS = 1_000
/** Of the arguments of `sleep`, a number. */
export const MAX_SLEEP_BYTES = 100
/** Of all requests of a script that have no reply yet. */
const MAX_OPEN_BYTES = 8 * 1024 * 1024

/** Whether a message has the form that our thread sends: the script in the thread is not trusted. */
export function isFromThread(message: unknown): message is FromThread {
  if (!isObject(message) || typeof message.logged !== 'string' || !Array.isArray(message.requests))
    return false
  const { run, sandboxMs, memoryBytes = 0, requests, outcome } = message
  if (typeof run !== 'number' || typeof sandboxMs !== 'number' || typeof memoryBytes !== 'number')
    return false
  return requests.every(isRequest) && (outcome === undefined || isOutcome(outcome))
}

function isRequest(request: unknown): request is SandboxRequest {
  if (!isObject(request) || !Number.isSafeInteger(request.call)) return false
  const { kind, path, args } = request
  if (!KINDS.some(known => known === kind) || typeof args !== 'string') return false
  if (kind === 'sleep' && args.length > MAX_SLEEP_BYTES) return false
  return typeof path === 'string' && path.length <= MAX_PATH_CHARACTERS
}

/** The requests of a script that have no reply yet. Both sides limit their bytes, because each request is kept until its turn. */
export class OpenRequests {
  #bytes = 0

  /** The bytes that the request takes, or why it may not be made now. */
  add({ path, args }: Pick<SandboxRequest, 'path' | 'args'>): { bytes: number } | { refusal: string } {
    const bytes = Buffer.byteLength(path) + Buffer.byteLength(args)
    if (this.#bytes + bytes > MAX_OPEN_BYTES) return { refusal: TOO_MUCH_OPEN }
    this.#bytes += bytes
    return { bytes }
  }

  remove(bytes: number): void {
    this.#bytes -= bytes
  }
}

const TOO_MUCH_OPEN = `the arguments of all calls without an answer would be larger than ${MAX_OPEN_BYTES} bytes: await some calls first`

/** The main thread alone makes the kind `aborted`. */
function isOutcome(outcome: unknown): boolean {
  if (!isObject(outcome)) return false
  const { kind, json, late, error, message } = outcome
  switch (kind) {
    case 'returned':
      return typeof late === 'number' && (json === undefined || typeof json === 'string')
    case 'threw':
      return isGuestError(error)
    case 'failed':
      return isErrorText(message)
    default:
      return kind === 'stuck' || kind === 'time' || kind === 'memory'
  }
}

function isGuestError(error: unknown): error is GuestError {
  if (!isObject(error) || !isErrorText(error.name) || !isErrorText(error.message)) return false
  return [error.line, error.column].every(at => at === undefined || typeof at === 'number')
}

function isErrorText(text: unknown): text is string {
  return typeof text === 'string' && text.length <= MAX_ERROR_CHARACTERS
}
