/** Reads request bodies as text: bounded one by one, and all that are held at a time together. */
import type { IncomingMessage, ServerResponse } from 'node:http'

export type Bodies = {
  /** Reads the body of a request, and counts it until its answer is over. Calls `done` once. */
  read(request: IncomingMessage, raw: ServerResponse, done: BodyRead): void
  /** Of large bodies, held now. */
  bytes(): number
}

export type BodyRead = (error: BodyRefused | undefined, body?: string) => void

export const MAX_BODY_BYTES = 4 * 1024 * 1024
/** Of all requests that are not answered yet. */
export const MAX_HELD_BYTES = 64 * 1024 * 1024
/** Smaller ones are not counted: how many there are is bounded, and most calls are so small. */
const SMALL_BYTES = 4 * 1024
/** Of a body too large so much more is read and forgotten: who writes first and reads then, gets to read why. */
const MAX_FORGOTTEN_BYTES = 64 * 1024 * 1024

export class BodyRefused extends Error {
  readonly statusCode: number

  constructor(statusCode: 400 | 413 | 503, message: string) {
    super(message)
    this.statusCode = statusCode
  }
}

export function createBodies(): Bodies {
  let held = 0

  /** Counts what is held of one body. */
  function account(raw: ServerResponse): Account {
    let own = 0
    const free = (): void => {
      held -= own
      own = 0
    }
    raw.once('close', free)
    return {
      free,
      take(bytes) {
        if (held + bytes > MAX_HELD_BYTES) return false
        held += bytes
        own += bytes
        return true
      },
    }
  }

  return {
    bytes: () => held,
    read(request, raw, done) {
      const chunks: Buffer[] = []
      let bytes = 0
      let counted: Account | undefined
      let refusal: BodyRefused | undefined
      let isOver = false
      const take = (chunk: Buffer): void => {
        bytes += chunk.length
        if (!refusal && bytes > SMALL_BYTES) {
          counted ??= account(raw)
          if (bytes > MAX_BODY_BYTES) refusal = tooLarge()
          else if (!counted.take(chunk.length)) refusal = tooMany()
          if (refusal) counted.free()
        }
        if (!refusal) chunks.push(chunk)
        else if (bytes > MAX_FORGOTTEN_BYTES) end()
        else chunks.length = 0
      }
      const end = (): void => {
        if (isOver) return
        isOver = true
        request.off('data', take)
        if (refusal) done(refusal)
        else done(undefined, textOf(chunks))
      }
      request.on('data', take).on('end', end)
      request.on('error', () => {
        refusal ??= new BodyRefused(400, 'The request body broke off')
        end()
      })
    },
  }
}

type Account = { take(bytes: number): boolean; free(): void }

function textOf(chunks: readonly Buffer[]): string {
  const [only] = chunks
  return only && chunks.length === 1 ? only.toString() : Buffer.concat(chunks).toString()
}

function tooLarge(): BodyRefused {
  return new BodyRefused(413, `Payload too large: at most ${MAX_BODY_BYTES} bytes`)
}

function tooMany(): BodyRefused {
  return new BodyRefused(503, 'Too many large requests at once')
}
