/** Lets the steps of searches take turns with everything else that the event loop does, so that calls do not wait for whole searches. */
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Runs a step in a turn of its own: after the steps given before, and after the input and output that is ready by then. Rejects if the step throws. */
export type Turns = <T>(step: () => T) => Promise<T>

/** For all requests of a handler. */
export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve()
  return step => {
    const done = last.then(() => nextTurn()).then(step)
    // Without the step's result, which would be kept until the next search.
    last = done.then(
      () => {},
      () => {},
    )
    return done
  }
}
