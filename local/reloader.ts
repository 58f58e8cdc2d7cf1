/** Reads the paths again whenever they changed, one reading at a time, and lets it take effect. */
import type { Clock } from '../core/async.ts'
import type { Problem } from '../core/errors.ts'
import { type Reading, type ReadOptions, readPaths } from './read.ts'

export type ReloaderDeps = Omit<ReadOptions, 'now'> & {
  clock: Clock
  onRead: (reading: Reading) => void
  /** Whenever the problems are others than before. */
  onProblems: (problems: Problem[]) => void
}

export class Reloader {
  readonly #deps: ReloaderDeps
  #problems: Problem[] = []
  #running: Promise<void> | undefined
  #again = false

  constructor(deps: ReloaderDeps) {
    this.#deps = deps
  }

  problems(): Problem[] {
    return this.#problems
  }

  /** Resolves once everything that stood in the files at the time of the call has taken effect. */
  reload(): Promise<void> {
    this.#again = true
    this.#running ??= this.#loop().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #loop(): Promise<void> {
    while (this.#again) {
      this.#again = false
      const reading = await readPaths({ ...this.#deps, now: this.#deps.clock.now() })
      this.#deps.onRead(reading)
      this.#tell(reading.problems)
    }
  }

  #tell(problems: Problem[]): void {
    const others = JSON.stringify(problems) !== JSON.stringify(this.#problems)
    this.#problems = problems
    if (others) this.#deps.onProblems(problems)
  }
}
