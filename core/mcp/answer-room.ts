/** Bounds how many bytes of large answers one process receives, or has sent and not delivered, at once: without it, a few calls can take all of its memory. */
import { totalmem } from 'node:os'

/** Answers up to this size are not counted while they are received: their number is bounded, and nearly all are that small. */
export const SMALL_ANSWER_BYTES = 1024 * 1024
/** Answers up to this size are not counted until they are read: of a connection, hundreds can wait (HTTP pipelining). */
export const UNCOUNTED_UNSENT_CHARACTERS = 16 * 1024
/** The largest answer fits. */
const MIN_BYTES = 64 * 1024 * 1024

export class AnswerRoom {
  /** Bytes that may still be taken. */
  left: number
  readonly #bytes: number
  readonly #whole: AnswerRoom | undefined

  /** Default: a fifth of the memory that this process may use, because an answer is in memory several times when it is complete. */
  constructor(
    bytes = Math.max(MIN_BYTES, Math.min(totalmem(), process.constrainedMemory() || Infinity) / 5),
    whole?: AnswerRoom,
  ) {
    this.left = bytes
    this.#bytes = bytes
    this.#whole = whole
  }

  /** For the answers of one upstream: a part of this room, so that an upstream whose answers stall leaves some to the others. */
  share(): AnswerRoom {
    return new AnswerRoom(Math.max(MIN_BYTES, this.#bytes / 2), this)
  }

  /** Whether there is room for so many more bytes. */
  take(bytes: number): boolean {
    if (bytes > this.left || this.#whole?.take(bytes) === false) return false
    this.left -= bytes
    return true
  }

  free(bytes: number): void {
    this.left += bytes
    this.#whole?.free(bytes)
  }
}
