/** HTTP client of an embeddings service with the API of OpenAI or of text-embeddings-inference. */
import { Pool } from 'undici'
import type { Clock } from '../../core/async.ts'
import { readBounded } from '../../core/bounded.ts'
import { deadline } from '../../core/deadline.ts'
import { Fault, messageOf } from '../../core/errors.ts'
import type { HostGuard } from '../../core/host-guard.ts'
import { isObject } from '../../core/json.ts'
import { createOutbound } from '../../core/outbound.ts'
import { hasManyValues } from '../../core/parse-json.ts'

const MAX_CONNECTIONS = 16
const CONNECT_TIMEOUT_MS = 5_000
/** Queries are rare, and opening a connection takes as long as an answer. */
const IDLE_CONNECTION_MS = 60_000
/** 32 texts with 4,096 dimensions take some 3 MB. */
const MAX_ANSWER_BYTES = 16 * 2 ** 20
const MAX_DIMENSIONS = 8_192

export type EmbeddingsAddress = {
  /** The base URL, such as `https://api.openai.com/v1`, or the full URL ending in `/embeddings` or `/embed`. */
  url: string
  model: string
  apiKey?: string
}

export type EmbeddingsService = {
  /** Returns for each text the components of its vector (length 1, equal dimensions). Throws Fault `unavailable`, or `cancelled`. */
  embed(texts: readonly string[], timeoutMs: number, signal?: AbortSignal): Promise<number[][]>
  close(): Promise<void>
}

/** Connects at the first request. `guard`: which addresses the service may have; absent: any. */
export function connectEmbeddings(
  address: EmbeddingsAddress,
  clock: Clock,
  guard?: HostGuard,
): EmbeddingsService {
  const url = endpointUrl(address.url)
  // The path of the native API of text-embeddings-inference.
  const native = url.pathname.endsWith('/embed')
  const pool = new Pool(url.origin, {
    connections: MAX_CONNECTIONS,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    connect: createOutbound({ timeoutMs: CONNECT_TIMEOUT_MS, guard }),
    // The deadline of `embed` also ends requests to a service that sends nothing.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  const path = url.pathname + url.search
  const headers = {
    'content-type': 'application/json',
    ...(address.apiKey !== undefined && { authorization: `Bearer ${address.apiKey}` }),
  }

  async function ask(input: readonly string[], signal: AbortSignal): Promise<unknown> {
    guard?.check(url)
    const content = native
      ? { inputs: input, truncate: true }
      : { model: address.model, input, encoding_format: 'float' }
    const request = { method: 'POST', path, headers, body: JSON.stringify(content), signal } as const
    const { statusCode, body } = await pool.request(request)
    const tooLarge = () => fault('sent an answer that is too large')
    const text = (await readBounded(body, MAX_ANSWER_BYTES, tooLarge)).toString('utf8')
    if (statusCode !== 200) throw fault(statusSentence(statusCode))
    if (hasManyValues(text)) throw tooLarge()
    return JSON.parse(text)
  }

  return {
    async embed(texts, timeoutMs, signal) {
      const limit = deadline(clock, timeoutMs, 'late', signal)
      try {
        return unitVectors(await ask(texts, limit.signal), texts.length)
      } catch (cause) {
        if (signal?.aborted) throw new Fault('cancelled', 'The encoding was cancelled', { cause })
        if (limit.signal.aborted) throw fault('did not answer in time')
        throw cause instanceof Fault ? cause : fault(brokenSentence(cause), cause)
      } finally {
        limit.clear()
      }
    },
    close: () => pool.destroy(),
  }
}

/** The URL to call: see EmbeddingsAddress. */
function endpointUrl(text: string): URL {
  const url = new URL(text)
  const path = url.pathname.replace(/\/+$/, '')
  url.pathname = /\/embed(dings)?$/.test(path) ? path : `${path}/embeddings`
  return url
}

/** Throws if the answer is not one vector for each text. */
function unitVectors(answer: unknown, count: number): number[][] {
  const vectors = isObject(answer) && Array.isArray(answer.data) ? inOrder(answer.data) : answer
  if (!Array.isArray(vectors) || vectors.length !== count || !vectors.every(isVector))
    throw fault('did not answer with one vector for each text')
  if (vectors.some(({ length }) => length !== vectors[0]?.length))
    throw fault('answered with vectors of different dimensions')
  return vectors.map(unit)
}

/** The vectors of an answer in OpenAI's format, in the order of the texts. */
function inOrder(data: unknown[]): unknown[] {
  const sorted = data.filter(isObject).sort((a, b) => Number(a.index ?? 0) - Number(b.index ?? 0))
  return sorted.map(({ embedding }) => embedding)
}

function isVector(value: unknown): value is number[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= MAX_DIMENSIONS &&
    value.every(component => typeof component === 'number' && Number.isFinite(component))
  )
}

/** Scales a vector to length 1; a zero vector stays as it is. */
function unit(vector: readonly number[]): number[] {
  const length = Math.hypot(...vector) || 1
  return vector.map(component => component / length)
}

function statusSentence(status: number): string {
  if (status === 401 || status === 403) return `refused the API key, or requires one (${status})`
  if (status === 404) return 'has no such path or no such model (404)'
  if (status === 429) return 'is limiting requests (429)'
  return `answers ${status}`
}

/** Describes a failure that is neither an answer nor a timeout; never contains the address. */
function brokenSentence(cause: unknown): string {
  if (cause instanceof SyntaxError) return 'answered with invalid JSON'
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : messageOf(cause)
  return `cannot be reached (${code})`
}

function fault(what: string, cause?: unknown): Fault {
  return new Fault('unavailable', `The embeddings service ${what}`, { cause, retryable: true })
}
