/** A child process and its descendants, started and ended as one process group. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { type Clock, delay } from '../../../async.ts'
import { groupExists, signalGroup } from './process-group.ts'
import type { Reaper } from './reaper.ts'
import { readStderr, type Stderr } from './stderr.ts'

export type ChildSpec = {
  command: string
  args: readonly string[]
  /** The complete environment; nothing is inherited. */
  env: Readonly<Record<string, string>>
  cwd?: string
}

export type ChildDeps = {
  clock: Clock
  /** Ends the child if this process is killed. Not needed in a container. */
  reaper?: Reaper
  /** Removed from the child's standard error. */
  secrets: readonly string[]
  onData(chunk: Buffer): void
  /** As in StderrOptions. */
  onStderr(line: string, left: number): void
}

export type ChildExit = {
  code: number | null
  signal: NodeJS.Signals | null
  /** Why the process could not be started. */
  notStarted?: string
}

/** A process with the three pipes that it was started with. */
type Started = ChildProcess & { stdin: Writable; stdout: Readable; stderr: Readable }

/** From closing standard input to KILL. */
const GRACE_MS = 2_000
/** For the descendants of a child that exited by itself: the next child waits for their end. */
const ORPHANS_GRACE_MS = 500
/** After KILL, only the kernel can delay the end of a process. */
const KILL_WAIT_MS = 500
const POLL_MS = 20
/** Descendants may keep the pipes open after the child has exited. */
const LAST_OUTPUT_MS = 200
const COMMAND_NOT_FOUND = 127

/** Shell script that starts the command once the reaper watches the group; exits if this process ends before that. */
export const GATE = 'IFS= read -r go <&3 && exec "$0" "$@" 3<&-'
/** Shells drop variables with other names; a child with such a variable is started without the gate. */
const SHELL_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/** One process group, from its start to its end. Windows is out of scope: it has no process groups. */
export class Child {
  /** Resolves when the child has exited and all its output was delivered. Never rejects. */
  readonly exited: Promise<ChildExit>
  readonly #child: Started | undefined
  readonly #stderr: Stderr | undefined
  readonly #deps: ChildDeps
  #leaderGone: Promise<unknown> = Promise.resolve()
  #hasExited = false
  #ending: Promise<void> | undefined
  #draining: Promise<unknown> | undefined

  /** Starts the child; if that fails, `exited` resolves with `notStarted`. */
  constructor(spec: ChildSpec, deps: ChildDeps) {
    this.#deps = deps
    const child = launch(spec, deps.reaper !== undefined)
    if (child instanceof Error) {
      this.exited = Promise.resolve({ code: null, signal: null, notStarted: whyNot(child, spec) })
      return
    }
    this.#child = child
    this.#stderr = readStderr(child.stderr, { ...deps, log: deps.onStderr })
    this.exited = exitOf(child, spec, deps.clock)
    this.#watch(child)
  }

  /** Writes one message in one call. */
  write(text: string): void {
    if (this.#child?.stdin.writable) this.#child.stdin.write(text)
  }

  /** Whether the pipe to the child is full: then wait for `drained` before writing more. */
  get blocked(): boolean {
    return this.#child?.stdin.writableNeedDrain === true
  }

  /** Resolves when the child has read enough, or has exited. */
  drained(): Promise<unknown> {
    if (!this.#child) return Promise.resolve()
    const { stdin } = this.#child
    // One listener for all waiting writers: Node warns of a leak from the eleventh listener on.
    this.#draining ??= drainOrClose(stdin).then(() => {
      this.#draining = undefined
      return stdin.destroyed ? this.exited : undefined
    })
    return this.#draining
  }

  /** Stops reading for a while, to slow down a child that floods its standard output. */
  pauseReading(ms: number): void {
    const stdout = this.#child?.stdout
    stdout?.pause()
    this.#deps.clock.after(ms, () => stdout?.resume())
  }

  /** The last lines of standard error, without secrets. */
  stderr(): string[] {
    return this.#stderr?.lines() ?? []
  }

  /** Closes standard input, then sends TERM, then KILL, to the whole group. Takes at most the grace period plus 0.5 s. */
  stop(graceMs = GRACE_MS): Promise<void> {
    const group = this.#child?.pid
    if (this.#child && group !== undefined) this.#ending ??= this.#end(this.#child, group, graceMs)
    return this.#ending ?? Promise.resolve()
  }

  #watch(child: Started): void {
    const stop = () => void this.stop()
    child.stdout.on('data', this.#deps.onData)
    // A child that closes its pipes is useless, even if it still runs.
    child.stdout.on('end', stop)
    for (const stream of [child.stdin, child.stdout]) stream.on('error', stop)
    this.#leaderGone = new Promise(resolve => child.once('exit', resolve)).then(() => {
      this.#hasExited = true
      this.#stderr?.finish()
      child.stdout.resume()
      void this.stop(ORPHANS_GRACE_MS)
    })
    if (child.pid === undefined || !this.#deps.reaper) return
    openGate(child, this.#deps.reaper.watch(child.pid)).catch(() => this.stop(0))
  }

  async #end(child: Started, group: number, graceMs: number): Promise<void> {
    // The clock's timers are unref'd; this one keeps the process alive until the group is empty.
    const hold = setInterval(() => {}, KILL_WAIT_MS)
    const signalled = (signal: NodeJS.Signals, waitMs: number) => {
      signalGroup(group, signal)
      return this.#emptied(group, waitMs)
    }
    child.stdin.end()
    const gone =
      (await this.#emptied(group, this.#hasExited ? 0 : graceMs / 4)) ||
      (await signalled('SIGTERM', (graceMs * 3) / 4))
    if (!gone) await signalled('SIGKILL', KILL_WAIT_MS)
    this.#deps.reaper?.forget(group)
    for (const stream of child.stdio) stream?.destroy()
    clearInterval(hold)
  }

  /** Whether the group becomes empty in time. Polls, because only the child's own exit has an event. */
  async #emptied(group: number, waitMs: number): Promise<boolean> {
    const { clock } = this.#deps
    const end = clock.elapsed() + waitMs
    while (!(this.#hasExited && !groupExists(group))) {
      const rest = end - clock.elapsed()
      if (rest <= 0) return false
      const poll = delay(clock, Math.min(rest, POLL_MS))
      await (this.#hasExited ? poll : Promise.race([this.#leaderGone, poll]))
    }
    return true
  }
}

/** Starts the command. `spawn` throws some failures, emits others, and returns no pipes if file descriptors run out. */
function launch(spec: ChildSpec, watched: boolean): Started | Error {
  const gated = watched && Object.keys(spec.env).every(name => SHELL_NAME.test(name))
  const command = gated ? '/bin/sh' : spec.command
  const args = gated ? ['-c', GATE, spec.command, ...spec.args] : spec.args
  try {
    const child = spawn(command, args, {
      cwd: spec.cwd,
      env: spec.env,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', gated ? 'pipe' : 'ignore'],
    })
    if (child.stdin && child.stdout && child.stderr) return child as Started
    child.on('error', () => {})
    return new Error('out of file descriptors')
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** Lets the command start once the reaper watches its group. */
async function openGate(child: Started, watched: Promise<void>): Promise<void> {
  const gate = child.stdio[3] as Writable | null | undefined
  gate?.on('error', () => {})
  await watched
  gate?.end('\n', () => gate.destroy())
}

/** Resolves at the next `drain` or `close` of a stream. */
function drainOrClose(stdin: Writable): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      stdin.off('drain', done).off('close', done)
      resolve()
    }
    stdin.on('drain', done).on('close', done)
  })
}

/** Resolves when all output was read, or 200 ms after the exit if descendants keep the pipes open. */
function exitOf(child: Started, spec: ChildSpec, clock: Clock): Promise<ChildExit> {
  return new Promise(resolve => {
    child.once('error', error => {
      if (child.pid === undefined) resolve({ code: null, signal: null, notStarted: whyNot(error, spec) })
    })
    child.once('exit', (code, signal) => {
      const exit: ChildExit = { code, signal }
      if (code === COMMAND_NOT_FOUND) exit.notStarted = `the command ${spec.command} was not found`
      const timer = clock.after(LAST_OUTPUT_MS, () => resolve(exit))
      child.once('close', () => {
        timer.cancel()
        resolve(exit)
      })
    })
  })
}

function whyNot(error: NodeJS.ErrnoException, { command, cwd }: ChildSpec): string {
  if (error.code !== 'ENOENT')
    return `the command ${command} could not be started (${error.code ?? error.message})`
  const folder = cwd === undefined ? '' : `, or its folder ${cwd},`
  return `the command ${command}${folder} was not found`
}
