/** Bounds the answers that callers have not read yet: those over 16 KiB of all callers together, and those of a batch. */
import type { ServerResponse } from 'node:http'
import { type AnswerRoom, SMALL_ANSWER_BYTES, UNCOUNTED_UNSENT_CHARACTERS } from '../answer-room.ts'
import { TRANSPORT_ERROR } from '../protocol/error-codes.ts'
import type { JsonRpcError, RequestId } from '../protocol/json-rpc.ts'
import { whenClosed } from './post-response.ts'
import { errorText } from './reply.ts'

/** Of all answers of a batch together, unless the first one alone is longer. */
const MAX_BATCH_CHARACTERS = 64 * 1024 * 1024
const BATCH_TOO_LARGE = dropped('the answers of the batch are too large together', 'Send fewer at once.')
const CROWDED = dropped(
  'too many large answers wait until their callers read them',
  'Ask for less, or try again in a few seconds.',
)

/** The text to send: the given one, whose room is free again when `raw` is closed, or an error if there is no room. */
export function withinRoom(room: AnswerRoom, raw: ServerResponse, id: RequestId, text: string): string {
  const isSent = text.length <= UNCOUNTED_UNSENT_CHARACTERS || takingFrom(room, raw)(text)
  return isSent ? text : errorText(id, CROWDED)
}

/** Does the same for each answer of a batch. The answers are dropped as they come, so that they are not kept until all have come. */
export function batchWithinRoom(
  room: AnswerRoom,
  raw: ServerResponse,
): (id: RequestId, text: string) => string {
  const take = takingFrom(room, raw)
  let characters = 0
  return (id, text) => {
    const sum = characters + text.length
    if (characters > 0 && sum > MAX_BATCH_CHARACTERS) return errorText(id, BATCH_TOO_LARGE)
    if (sum > UNCOUNTED_UNSENT_CHARACTERS && !take(text)) return errorText(id, CROWDED)
    characters = sum
    return text
  }
}

/**
 * Returns a function that takes room for a text until `raw` is closed, and returns false if there is no room. A response that waits for
 * earlier ones on its connection (HTTP pipelining) gets room for at most 1 MiB, since no timeout limits how long it waits.
 */
function takingFrom(room: AnswerRoom, raw: ServerResponse): (text: string) => boolean {
  let taken = 0
  whenClosed(raw, () => room.free(taken))
  return text => {
    // Counting the bytes of a small text would take more time than it is worth.
    const bytes = text.length <= SMALL_ANSWER_BYTES ? text.length : Buffer.byteLength(text)
    if (raw.closed || (!raw.socket && taken + bytes > SMALL_ANSWER_BYTES) || !room.take(bytes)) return false
    taken += bytes
    return true
  }
}

function dropped(reason: string, advice: string): JsonRpcError {
  return {
    code: TRANSPORT_ERROR,
    message: `The answer was dropped because ${reason}, though the request may have taken effect. ${advice}`,
    data: { reason: 'upstream_too_large', retryable: true },
  }
}
