/** A bare client of replicas: POSTs, and streams read event by event. */
import type { JsonObject } from '../../core/json.ts'
import { LEGACY_HEADERS, legacy, post } from '../front/post.ts'

/** Begins a session at this endpoint, for a client that supports elicitation by forms; resolves with its header. */
export async function beginSession(url: string): Promise<Record<string, string>> {
  const params = { protocolVersion: '2025-11-25', capabilities: { elicitation: {} } }
  const { headers } = await post(url, legacy('initialize', params))
  return { 'mcp-session-id': headers.get('mcp-session-id') ?? '' }
}

export type EventStream = {
  status: number
  /** The next message; undefined at the end. Rejects if the stream breaks off. */
  next(): Promise<JsonObject | undefined>
  close(): void
}

/** A stream that is read only as far as `next` asks. */
export async function openEvents(
  url: string,
  headers: Record<string, string>,
  body?: JsonObject,
): Promise<EventStream> {
  const stop = new AbortController()
  const response = await fetch(url, {
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    headers: { ...(body ? LEGACY_HEADERS : { accept: 'text/event-stream' }), ...headers },
    signal: stop.signal,
  })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  return {
    status: response.status,
    close: () => stop.abort(),
    async next() {
      for (;;) {
        const end = text.indexOf('\n\n')
        if (end < 0) {
          const { value, done } = (await reader?.read()) ?? { done: true }
          if (done) return undefined
          text += value
          continue
        }
        const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1]
        text = text.slice(end + 2)
        if (data !== undefined) return JSON.parse(data) as JsonObject
      }
    },
  }
}
