/** Deterministic embeddings without a model: words are hashed into a few hundred dimensions, and some words are synonyms. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { quantize } from '../../core/catalog/vectors.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'

const DIMENSIONS = 256
/** Invented synonyms, which only search by meaning can find. */
const SYNONYMS: Readonly<Record<string, string>> = { zorble: 'snapshot', frimp: 'invoice', glunk: 'mailbox' }

/** Returns a vector of length 1, which is the same for texts with the same words. */
export function embed(text: string, dimensions = DIMENSIONS): number[] {
  const vector = new Array<number>(dimensions).fill(0)
  for (const word of text.toLowerCase().match(/[a-z0-9]+/g) ?? ['']) {
    const hash = createHash('sha256')
      .update(SYNONYMS[word] ?? word)
      .digest()
    for (let at = 0; at < 8; at++) {
      const place = hash.readUInt16LE(2 * at) % dimensions
      vector[place] = (vector[place] as number) + ((hash[16 + at] as number) % 2 === 0 ? 1 : -1)
    }
  }
  const length = Math.hypot(...vector) || 1
  return vector.map(component => component / length)
}

/** An encoder that returns such vectors. */
export function createHashingEncoder(id = 'hashing/1'): SentenceEncoder & { encoded: string[] } {
  const encoded: string[] = []
  return {
    id,
    encoded,
    async encodeQuery(text) {
      encoded.push(text)
      return quantize(embed(text))
    },
    async encodeTexts(texts) {
      encoded.push(...texts.map(({ full }) => full))
      return texts.map(({ full }) => quantize(embed(full)))
    },
    close: async () => {},
  }
}

/** How the service answers: correctly (`well`), not at all, with wrong data, or with an HTTP status. */
export type Mood = 'well' | 'silent' | 'huge' | 'dense' | 'nonsense' | 'oneTooFew' | number

export type EmbeddingsServer = {
  /** The base: `http://127.0.0.1:1234/v1`. */
  url: string
  mood: Mood | ((texts: string[]) => Mood | Promise<Mood>)
  dimensions: number
  /** The received requests, in order. */
  asked: { path: string; authorization?: string; model?: string; texts: string[] }[]
  /** The number of concurrent requests now, and the largest so far. */
  active: number
  most: number
  /** Resolves when so many requests have been received. */
  untilAsked(count: number): Promise<void>
  close(): Promise<void>
}

/** Implements the APIs of OpenAI at `/v1/embeddings` and of text-embeddings-inference at `/embed`. */
export async function startEmbeddings(): Promise<EmbeddingsServer> {
  const waiting: { count: number; resolve: () => void }[] = []
  const server = createServer(async (request, response) => {
    served.most = Math.max(served.most, ++served.active)
    response.on('close', () => served.active--)
    const { texts, model } = await bodyOf(request)
    const path = request.url ?? ''
    served.asked.push({ path, authorization: request.headers.authorization, model, texts })
    for (const { resolve } of waiting.filter(({ count }) => count <= served.asked.length)) resolve()
    const { dimensions } = served
    const mood = typeof served.mood === 'function' ? await served.mood(texts) : served.mood
    if (mood === 'silent') return
    if (typeof mood === 'number') return response.writeHead(mood).end('no')
    if (mood === 'nonsense') return response.end('<html>')
    if (mood === 'huge') return response.end(`[${'0,'.repeat(10 * 2 ** 20)}0]`)
    if (mood === 'dense') return response.end(`[${'[],'.repeat(2 ** 20)}0]`)
    const vectors = texts.slice(mood === 'oneTooFew' ? 1 : 0).map(text => embed(text, dimensions))
    const data = vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })).reverse()
    response.end(JSON.stringify(path === '/embed' ? vectors : { object: 'list', data }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const served: EmbeddingsServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    mood: 'well',
    dimensions: DIMENSIONS,
    asked: [],
    active: 0,
    most: 0,
    untilAsked: count =>
      served.asked.length >= count
        ? Promise.resolve()
        : new Promise(resolve => waiting.push({ count, resolve })),
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
  return served
}

async function bodyOf(request: IncomingMessage): Promise<{ texts: string[]; model?: string }> {
  const body = JSON.parse((await buffer(request)).toString('utf8'))
  return { texts: body.input ?? body.inputs, model: body.model }
}
