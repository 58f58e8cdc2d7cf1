/** Reads an event stream message by message, as a bare client does. */
import type { TestContext } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { LEGACY_HEADERS, legacy, post } from './post.ts'

export type EventReader = {
  status: number
  headers: Headers
  /** The next message; undefined at the end of the stream. */
  next(): Promise<JsonObject | undefined>
  /** The next heartbeat. */
  beat(): Promise<void>
  close(): void
}

/** Sends a request and reads its answer as it arrives; closed after the test. */
export async function readEvents(
  t: TestContext,
  url: string,
  headers: Record<string, string>,
  body?: JsonObject | JsonObject[],
): Promise<EventReader> {
  const abort = new AbortController()
  const open: Response[] = []
  // fetch cancels the body of a response that nobody refers to any more, so the test refers to it until its end.
  t.after(() => {
    abort.abort()
    open.pop()
  })
  const response = await fetch(url, {
    method: body ? 'POST' : 'GET',
    headers: { ...LEGACY_HEADERS, ...headers },
    body: body && JSON.stringify(body),
    signal: abort.signal,
  })
  open.push(response)
  const frames = framesOf(response.body as ReadableStream<Uint8Array>)
  const nextFrame = async (wanted: (frame: string) => boolean) => {
    for (;;) {
      const { value, done } = await frames.next()
      if (done || wanted(value)) return value
    }
  }
  return {
    status: response.status,
    headers: response.headers,
    async next() {
      const data = /^data: (.*)$/m.exec((await nextFrame(frame => frame.includes('data: '))) ?? '')
      return data?.[1] === undefined ? undefined : JSON.parse(data[1])
    },
    beat: async () => void (await nextFrame(frame => frame.startsWith(':'))),
    close: () => abort.abort(),
  }
}

async function* framesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true })
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      yield text.slice(0, end)
      text = text.slice(end + 2)
    }
  }
}

/** Begins a session of the 2025 era, and returns the header that names it. */
export async function beginSession(
  url: string,
  capabilities: JsonObject = {},
  given: Record<string, string> = {},
): Promise<Record<string, string>> {
  const message = legacy('initialize', { protocolVersion: '2025-11-25', capabilities })
  const { headers } = await post(url, message, given)
  return { 'mcp-session-id': headers.get('mcp-session-id') ?? '' }
}
