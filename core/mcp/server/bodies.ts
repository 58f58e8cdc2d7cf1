/** Reads request bodies as text, with a limit for each and for all that are in memory. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Chunks } from '../../chunks.ts'
import { hasManyValues, MAX_VALUES } from '../../parse-json.ts'
import { PARSE_ERROR, TRANSPORT_ERROR } from '../protocol/error-codes.ts'
import { writeText } from './post-response.ts'
import { errorText } from './reply.ts'

export type Bodies = {
  /** Reads a body and counts it until its response ends. Calls `done` once, or answers with the reason of the refusal. */
  read(request: IncomingMessage, raw: ServerResponse, done: (body: string) => void): void
  /** Size of all large bodies in memory. */
  bytes(): number
}

export const MAX_BODY_BYTES = 4 * 1024 * 1024
/** For all unanswered requests. Parsed JSON takes up to 20 times its text's size, or 75 MB for each body, and pods have 512 MiB. */
export const MAX_HELD_BYTES = 16 * 1024 * 1024
/** Smaller bodies are not counted: the number of requests is bounded, and most calls are that small. */
const SMALL_BYTES = 4 * 1024
/** Reads on and discards this much of a refused body, because some clients read the response only after writing all of it. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024

export function createBodies(): Bodies {
  let held = 0

  /** Counts the bytes of one body that are in memory. */
  function account(raw: ServerResponse): Account {
    let counted = 0
    const free = (): void => {
      held -= counted
      counted = 0
    }
    raw.once('close', free)
    return {
      free,
      take(bytes) {
        if (held + bytes > MAX_HELD_BYTES) return false
        held += bytes
        counted += bytes
        return true
      },
    }
  }

  return {
    bytes: () => held,
    read(request, raw, done) {
      const chunks = new Chunks()
      let bytes = 0
      let counted: Account | undefined
      let refusal: Refusal | undefined
      let isOver = false
      const take = (chunk: Buffer): void => {
        bytes += chunk.length
        if (!refusal && bytes > SMALL_BYTES) {
          counted ??= account(raw)
          if (bytes > MAX_BODY_BYTES) refusal = TOO_LARGE
          else if (!counted.take(chunk.length)) refusal = TOO_MANY
          if (refusal) counted.free()
        }
        if (!refusal) chunks.add(chunk)
        else if (bytes > MAX_DISCARDED_BYTES) end()
        else chunks.clear()
      }
      const end = (): void => {
        if (isOver) return
        isOver = true
        request.off('data', take)
        const text = refusal ? '' : chunks.text()
        if (hasManyValues(text)) refusal = MANY_VALUES
        if (refusal) refuse(raw, refusal)
        else done(text)
      }
      request.on('data', take).on('end', end)
      request.on('error', () => {
        refusal ??= BROKE_OFF
        end()
      })
    },
  }
}

type Refusal = { status: number; message: string; code?: number; headers?: readonly string[] }

const TOO_LARGE: Refusal = {
  status: 413,
  message: `Payload too large: at most ${MAX_BODY_BYTES} bytes`,
}
const MANY_VALUES: Refusal = {
  status: 413,
  message: `Payload too large: at most ${MAX_VALUES} JSON values`,
}
const TOO_MANY: Refusal = {
  status: 503,
  message: 'Too many large requests at once; try again in a second.',
  headers: ['retry-after', '1'],
}
const BROKE_OFF: Refusal = { status: 400, code: PARSE_ERROR, message: 'The request body broke off' }

/** Closes the connection after the response: the rest of the body may still arrive. */
function refuse(raw: ServerResponse, { status, message, headers, code = TRANSPORT_ERROR }: Refusal): void {
  raw.shouldKeepAlive = false
  writeText(raw, status, errorText(null, { code, message }), headers)
}

type Account = { take(bytes: number): boolean; free(): void }
