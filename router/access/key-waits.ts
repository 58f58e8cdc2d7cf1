/** Limits how many requests wait for public keys: each occupies one of the places for verification, which tokens with known keys need meanwhile. */
import { Fault } from '../../core/errors.ts'

/** For the keys of one issuer. */
const MAX_WAITING = 32

/** Too many requests wait already; the client may send the token again. */
export class TooManyWait extends Fault {}

/** Returns a function that waits for keys. It throws TooManyWait if too many requests already wait. */
export function createKeyWaits(): <T>(keys: Promise<T>) => Promise<T> {
  let waiting = 0
  return async keys => {
    if (waiting >= MAX_WAITING)
      throw new TooManyWait('unavailable', 'Too many requests wait for keys', { retryable: true })
    waiting++
    try {
      return await keys
    } finally {
      waiting--
    }
  }
}
