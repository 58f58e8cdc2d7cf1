/** Bounds how many requests wait for public keys: they hold places of verification that tokens of known keys need meanwhile. */
import { Fault } from '../../core/errors.ts'

/** For the keys of one issuer. */
const MAX_WAITING = 32

/** Too many wait already: the token is to be sent again. */
export class TooManyWait extends Fault {}

/** Returns a function that waits with its caller. Throws TooManyWait if too many do. */
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
