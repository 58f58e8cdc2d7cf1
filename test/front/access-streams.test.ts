/** How many event streams one caller may have open: over HTTP, against a running router. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { BLUE, initialize, modernised, RED, send, start, TOKENS } from './access-router.ts'
import { type EventReader, readEvents } from './event-reader.ts'

/** A sixteenth of 4,096. */
const MAX_STREAMS = 256
const PATH = '/mcp/direct'
const LISTEN = modernised({
  method: 'subscriptions/listen',
  params: { notifications: { toolsListChanged: true } },
})
const BODY = { jsonrpc: '2.0', id: 1, ...LISTEN.message } as unknown as JsonObject
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })

/** A stream of the 2025 era in a new session. */
async function get(t: TestContext, origin: string, token: string): Promise<EventReader> {
  const begun = await send(origin, initialize, { token, path: PATH })
  const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
  return readEvents(t, `${origin}${PATH}`, { ...bearer(token), ...session })
}

const listen = (t: TestContext, origin: string, token: string) =>
  readEvents(t, `${origin}${PATH}`, { ...bearer(token), ...LISTEN.headers }, BODY)

test('a caller may have 256 event streams of both eras together; other callers still get theirs', async t => {
  const { origin } = await start(t, { auth: TOKENS })
  const listening: EventReader[] = []
  for (let count = 0; count < MAX_STREAMS / 2; count++) {
    const opened = await listen(t, origin, RED)
    assert.equal((await opened.next())?.method, 'notifications/subscriptions/acknowledged')
    listening.push(opened)
  }
  for (let count = 0; count < MAX_STREAMS / 2; count++) assert.equal((await get(t, origin, RED)).status, 200)

  const begun = await send(origin, initialize, { token: RED, path: PATH })
  const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
  const headers = { ...bearer(RED), ...session, accept: 'text/event-stream' }
  const refused = await fetch(`${origin}${PATH}`, { headers })
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '1'])
  assert.match(await refused.text(), /This caller has 256 event streams open, the most at once: close some/)
  const { message, headers: named } = LISTEN
  const answer = await send(origin, message, { token: RED, path: PATH, headers: named })
  assert.match(
    answer.text,
    /This caller has 256 event streams open, the most at once: close some; try again later/,
  )

  assert.equal((await get(t, origin, BLUE)).status, 200)
  assert.equal(
    (await (await listen(t, origin, BLUE)).next())?.method,
    'notifications/subscriptions/acknowledged',
  )

  listening[0]?.close()
  let status = 503
  while (status === 503) ({ status } = await get(t, origin, RED))
  assert.equal(status, 200)
})
