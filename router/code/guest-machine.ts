/** Runs one script in a new instance of the interpreter, in a sandbox's thread. Shares nothing with other scripts. */
import process from 'node:process'
import variant from '@jitl/quickjs-wasmfile-release-sync'
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
  type QuickJSSyncVariant,
} from 'quickjs-emscripten-core'
import { placeIn, SCRIPT_FILE, unfenced, wrapped } from '../../core/code/script-forms.ts'
import { removeTypes } from '../../core/code/type-remover.ts'
import {
  type GuestError,
  MAX_ERROR_CHARACTERS,
  type RunMessage,
  type SandboxOutcome,
  type SandboxReply,
  type ThreadData,
} from './sandbox-messages.ts'

/** The package declares its types for CommonJS, where the default export is inside of another. */
const SYNC = variant as unknown as QuickJSSyncVariant
/** Memory in addition to the limit of scripts: the interpreter's own stack, tables and copies of strings. */
const OWN_MEMORY_BYTES = 8 * 1024 * 1024
const PAGE_BYTES = 64 * 1024
/** The minimum that the interpreter's module requires. Pages take no memory until they are used. */
const FIRST_PAGES = 256
const STACK_BYTES = 512 * 1024
const JOBS_AT_ONCE = 1_000

/** Functions of the host that a script can call. `send` returns undefined, or the error of a refused request as JSON. */
export type GuestHost = {
  send(call: number, kind: string, path: string, args: string): string | undefined
  log(line: string): void
}

export type GuestMachine = {
  /** Compiles the script and runs it until it waits for the host or ends. */
  start(): SandboxOutcome | undefined
  /** Settles a request and continues the script. */
  settle(call: number, reply: SandboxReply): SandboxOutcome | undefined
  /** Time in which the script ran. */
  sandboxMs(): number
  /** All memory of the interpreter; it never shrinks. */
  memoryBytes(): number
}

/** `open`: returns how many requests of the script are open. */
export async function createGuestMachine(
  { wasm, guest }: ThreadData,
  { source, input, limits }: RunMessage,
  host: GuestHost,
  open: () => number,
): Promise<GuestMachine> {
  const maximum = Math.max(FIRST_PAGES, Math.ceil((limits.memoryBytes + OWN_MEMORY_BYTES) / PAGE_BYTES))
  const wasmMemory = new WebAssembly.Memory({ initial: FIRST_PAGES, maximum })
  const quickJs = await newQuickJSWASMModuleFromVariant(newVariant(SYNC, { wasmModule: wasm, wasmMemory }))
  const runtime = quickJs.newRuntime({
    memoryLimitBytes: limits.memoryBytes,
    maxStackSizeBytes: STACK_BYTES,
  })
  const watch = watchTime(runtime, limits.sandboxMs)
  const context = runtime.newContext()
  const functions = context.unwrapResult(context.evalCode(guest, 'guest'))
  const machine = context.unwrapResult(
    context.callFunction(functions, context.undefined, ...hostFunctions(context, host)),
  )
  const propertyOf = (name: string) => context.getProp(machine, name)
  const parts = {
    state: propertyOf('state'),
    finish: propertyOf('finish'),
    described: propertyOf('described'),
  }
  const run = propertyOf('run')
  const settle = propertyOf('settle')
  const ending: Ending = {}
  const textOrUndefined = (text: string | undefined) =>
    text === undefined ? context.undefined : context.newString(text)

  const go = (enter: () => SandboxOutcome | undefined): SandboxOutcome | undefined =>
    watch.timed(() => {
      const outcome = enter() ?? runJobs(runtime) ?? outcomeOf(context, parts, open(), ending)
      if (watch.isOver()) return { kind: 'time' }
      return isStarved(outcome, wasmMemory.buffer.byteLength - limits.memoryBytes)
        ? { kind: 'memory' }
        : outcome
    })
  return {
    start: () =>
      go(() => {
        const compiled = compile(context, unfenced(source))
        if ('error' in compiled) return { kind: 'threw', error: compiled.error }
        return failureOf(
          context.callFunction(run, context.undefined, compiled.script, textOrUndefined(input)),
        )
      }),
    settle: (call, { isValue, json }) =>
      go(() => {
        const given = [context.newNumber(call), isValue ? context.true : context.false, textOrUndefined(json)]
        return failureOf(context.callFunction(settle, context.undefined, ...given))
      }),
    sandboxMs: watch.spentMs,
    memoryBytes: () => wasmMemory.buffer.byteLength,
  }
}

function hostFunctions(context: QuickJSContext, host: GuestHost): QuickJSHandle[] {
  const send = context.newFunction('send', (call, kind, path, args) => {
    const [number, ...texts] = [
      context.getNumber(call),
      ...[kind, path, args].map(one => context.getString(one)),
    ]
    const refusal = host.send(number, ...(texts as [string, string, string]))
    return refusal === undefined ? context.undefined : context.newString(refusal)
  })
  const log = context.newFunction('log', line => host.log(context.getString(line)))
  return [send, log]
}

/** Limits and measures the time of a script. The interpreter asks from time to time whether to continue, but not while one of its built-in functions runs, so the main thread has a timer too. */
function watchTime(runtime: QuickJSRuntime, mostMs: number) {
  let spentMs = 0
  /** Infinite while no script runs. */
  let enteredMs = Number.POSITIVE_INFINITY
  let over = false
  runtime.setInterruptHandler(() => {
    over ||= spentMs + computedMs() - enteredMs > mostMs
    return over
  })
  return {
    timed<T>(enter: () => T): T {
      enteredMs = computedMs()
      try {
        return enter()
      } finally {
        spentMs += computedMs() - enteredMs
        enteredMs = Number.POSITIVE_INFINITY
      }
    },
    isOver: () => over,
    spentMs: () => spentMs,
  }
}

/** CPU time of this thread, so that a busy machine does not shorten a script's time. Before Node 24: elapsed time. */
function computedMs(): number {
  if (!process.threadCpuUsage) return performance.now()
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** Runs the jobs of promises until none is left. */
function runJobs(runtime: QuickJSRuntime): SandboxOutcome | undefined {
  for (;;) {
    const ran = runtime.executePendingJobs(JOBS_AT_ONCE)
    if (ran.error) return { kind: 'memory' }
    if (ran.value < JOBS_AT_ONCE) return undefined
  }
}

/** Our own functions in the sandbox catch all errors of scripts, so this one means that memory or time ran out. */
function failureOf(result: { error?: QuickJSHandle | undefined }): SandboxOutcome | undefined {
  return result.error ? { kind: 'memory' } : undefined
}

type Parts = Record<'state' | 'finish' | 'described', QuickJSHandle>

/** Whether a script failed for want of memory: without memory for an error object, the interpreter throws null. `overBytes`: memory in use beyond the limit of scripts. */
function isStarved(outcome: SandboxOutcome | undefined, overBytes: number): boolean {
  if (outcome?.kind !== 'threw' || overBytes < -PAGE_BYTES * 16) return false
  const { name, message } = outcome.error
  return name === '' && message === 'null'
}

/** `late`: the requests that were open when the script returned. */
type Ending = { late?: number }

/** Undefined while the script waits. It has ended if it threw, or if it returned and none of its requests is open (`open`: how many are). */
function outcomeOf(
  context: QuickJSContext,
  parts: Parts,
  open: number,
  ending: Ending,
): SandboxOutcome | undefined {
  const state = context.getString(context.unwrapResult(context.callFunction(parts.state, context.undefined)))
  if (state === 'running') return open > 0 ? undefined : { kind: 'stuck' }
  if (state === 'returned') ending.late ??= open
  if (state === 'returned' && open > 0) return undefined
  const finished = context.callFunction(parts.finish, context.undefined)
  if (finished.error) return thrown(context, parts, finished.error)
  const json = context.typeof(finished.value) === 'string' ? context.getString(finished.value) : undefined
  return state === 'threw'
    ? { kind: 'threw', error: errorOf(json) }
    : { kind: 'returned', json, late: ending.late ?? 0 }
}

/** The error for a returned value that cannot be written as JSON. */
function thrown(context: QuickJSContext, { described }: Parts, error: QuickJSHandle): SandboxOutcome {
  const text = context.callFunction(described, context.undefined, error)
  return text.error ? { kind: 'memory' } : { kind: 'threw', error: errorOf(context.getString(text.value)) }
}

function errorOf(described: string | undefined): GuestError {
  return guestError(JSON.parse(described ?? '{}') as Record<string, unknown>)
}

/** The script may have made the texts, or replaced `toJSON` of all objects. */
function guestError({ name, message, stack }: Record<string, unknown>): GuestError {
  const text = (value: unknown) => String(value).slice(0, MAX_ERROR_CHARACTERS)
  return { name: text(name), message: text(message), ...placeIn(text(stack)) }
}

type Compiled = { script: QuickJSHandle } | { error: GuestError }

/** Compiles the source as JavaScript; if that fails, without its type annotations. If both fail, the error is that of the source as the body of a function. */
function compile(context: QuickJSContext, source: string): Compiled {
  const plain = compileForms(context, wrapped(source))
  if ('script' in plain) return plain
  const forms = removeTypes(wrapped(source))
  const stripped = compileForms(
    context,
    forms.flatMap(form => ('text' in form ? [form.text] : [])),
  )
  if ('script' in stripped) return stripped
  const refused = forms.flatMap(form => ('refusal' in form ? [form.refusal] : []))[0]
  return refused === undefined ? plain : { error: { ...plain.error, message: refused } }
}

/** Compiles the first form that is valid; otherwise returns the error of the last one. */
function compileForms(context: QuickJSContext, forms: readonly string[]): Compiled {
  let error: GuestError = { name: 'SyntaxError', message: 'the code is not JavaScript' }
  for (const form of forms) {
    const checked = context.evalCode(form, SCRIPT_FILE, { compileOnly: true })
    if (!checked.error) {
      const made = context.evalCode(form, SCRIPT_FILE)
      if (!made.error) return { script: made.value }
    }
    if (checked.error) error = syntaxError(context, checked.error)
  }
  return { error }
}

function syntaxError(context: QuickJSContext, error: QuickJSHandle): GuestError {
  return guestError(context.dump(error) as Record<string, unknown>)
}
