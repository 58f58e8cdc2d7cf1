/** Reads the paths again after changes, one read at a time, and passes the result on. */
import type { Clock } from '../core/async.ts'
import { Fault, type Problem } from '../core/errors.ts'
import type { Desired } from './desire.ts'
import { type Reading, type ReadOptions, readPaths } from './read.ts'

/** What changed since the previous read of the paths; each list has only new entries. */
export type Findings = {
  problems: Problem[]
  /** Problems that no longer exist. */
  solved: Problem[]
  /** Remarks that are not errors. */
  notes: Problem[]
}

export type ReloaderDeps = Omit<ReadOptions, 'now' | 'current'> & {
  clock: Clock
  onRead: (reading: Reading) => void
  onFindings: (findings: Findings) => void
}

export class Reloader {
  readonly #deps: ReloaderDeps
  #desired: Desired | undefined
  #problems: Problem[] = []
  #notes: Problem[] = []
  #running: Promise<void> | undefined
  /** Whether the paths have to be read once more after the current read. */
  #again = false

  constructor(deps: ReloaderDeps) {
    this.#deps = deps
  }

  /** All problems of the last read. */
  problems(): Problem[] {
    return this.#problems
  }

  /**
   * Resolves once the content that the files had at the time of the call has taken effect. Throws Fault `bad_request` if the first read
   * cannot decide which gateway to run.
   */
  reload(): Promise<void> {
    this.#again = true
    this.#running ??= this.#loop()
    return this.#running
  }

  async #loop(): Promise<void> {
    try {
      while (this.#again) {
        this.#again = false
        await this.#read()
      }
    } finally {
      // Not after the promise has settled: a call in between would get this promise, and its change would not be read.
      this.#running = undefined
    }
  }

  async #read(): Promise<void> {
    const { clock, onRead } = this.#deps
    const reading = await readPaths({ ...this.#deps, current: this.#desired, now: clock.now() })
    const { desired } = reading
    if (desired.undecided && !this.#desired) throw new Fault('bad_request', desired.undecided.message)
    this.#desired = desired
    onRead(reading)
    this.#report(reading)
  }

  #report({ problems, notes }: Reading): void {
    const findings = {
      problems: missingIn(this.#problems, problems),
      solved: missingIn(problems, this.#problems),
      notes: missingIn(this.#notes, notes),
    }
    this.#problems = problems
    this.#notes = notes
    if (Object.values(findings).some(({ length }) => length > 0)) this.#deps.onFindings(findings)
  }
}

/** Problems that are not in `others`. A problem that only moved within its file counts as the same. */
function missingIn(others: readonly Problem[], problems: readonly Problem[]): Problem[] {
  const known = new Set(others.map(keyOf))
  return problems.filter(problem => !known.has(keyOf(problem)))
}

function keyOf({ file, path, reason, message }: Problem): string {
  return JSON.stringify([file, path, reason, message])
}
