/** Bodies on a real server: read in full, bounded one by one and together, and released after the answer. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { until } from '../../../test/support/until.ts'
import { MAX_VALUES } from '../../parse-json.ts'
import { type Bodies, createBodies, MAX_BODY_BYTES, MAX_HELD_BYTES } from './bodies.ts'

const MIB = 1024 * 1024

test('a body is read as text, whole or in chunks', async t => {
  const { url, bodies } = await start(t, (raw, text) => raw.end(text))
  for (const body of ['', '{}', 'ä€😀'.repeat(50_000)]) {
    assert.equal(await (await fetch(url, { method: 'POST', body })).text(), body)
    const chunked = { method: 'POST', body: new Blob([body]).stream(), duplex: 'half' } as RequestInit
    assert.equal(await (await fetch(url, chunked)).text(), body)
  }
  assert.equal(bodies.bytes(), 0)
})

test('a body that is too large is read to its end and refused with 413, with and without Content-Length', async t => {
  const { url, bodies } = await start(t, raw => raw.end('taken'))
  const fits = await fetch(url, { method: 'POST', body: 'x'.repeat(MAX_BODY_BYTES) })
  assert.equal(fits.status, 200)
  for (const bytes of [MAX_BODY_BYTES + 1, 32 * MIB]) {
    const body = 'x'.repeat(bytes)
    assert.equal((await fetch(url, { method: 'POST', body })).status, 413)
    const chunked = { method: 'POST', body: new Blob([body]).stream(), duplex: 'half' } as RequestInit
    assert.equal((await fetch(url, chunked)).status, 413)
  }
  assert.equal(bodies.bytes(), 0)
})

test('a body with too many values is refused with 413', async t => {
  const { url, bodies } = await start(t, raw => raw.end('taken'))
  const body = `[${'[],'.repeat(MAX_VALUES)}1]`
  const answer = await fetch(url, { method: 'POST', body })
  assert.equal(answer.status, 413)
  assert.match(await answer.text(), /at most 500000 JSON values/)
  assert.equal((await fetch(url, { method: 'POST', body: JSON.stringify(body) })).status, 200)
  assert.equal(bodies.bytes(), 0)
})

test('large bodies count until they are answered; beyond the limit large ones get 503, and small ones pass', async t => {
  const waiting: ServerResponse[] = []
  const { url, bodies, taken } = await start(t, raw => waiting.push(raw))
  const body = 'x'.repeat(MAX_BODY_BYTES)
  const many = MAX_HELD_BYTES / MAX_BODY_BYTES
  const answers = Array.from({ length: many }, () => fetch(url, { method: 'POST', body }))
  await taken(many)
  // Up to 4 KiB at the start of each are not counted: how much depends on where its chunks end.
  assert.ok(bodies.bytes() > MAX_HELD_BYTES - MIB && bodies.bytes() <= MAX_HELD_BYTES, `${bodies.bytes()}`)
  assert.equal((await fetch(url, { method: 'POST', body })).status, 503)
  const small = fetch(url, { method: 'POST', body: '{}' })
  await taken(many + 1)
  for (const raw of waiting) raw.end()
  for (const answer of [...answers, small]) assert.equal((await answer).status, 200)
  await until(() => bodies.bytes() === 0)
})

test('a body is released when its caller leaves', async t => {
  const { url, bodies } = await start(t, raw => raw.end())
  const gone = new AbortController()
  const body = new ReadableStream({ start: feed => feed.enqueue(Buffer.alloc(MIB)) })
  const request = { method: 'POST', body, duplex: 'half', signal: gone.signal } as RequestInit
  const answer = fetch(url, request).catch(() => 'gone')
  await until(() => bodies.bytes() > 0)
  gone.abort()
  assert.equal(await answer, 'gone')
  await until(() => bodies.bytes() === 0)
})

type Started = { url: string; bodies: Bodies; taken(count: number): Promise<void> }

/** A server that reads bodies and gives what was read to `answer`. */
async function start(t: TestContext, answer: (raw: ServerResponse, text: string) => void): Promise<Started> {
  const bodies = createBodies()
  let count = 0
  const server = createServer((request, raw) =>
    bodies.read(request, raw, text => {
      count++
      answer(raw, text)
      server.emit('taken')
    }),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  t.after(() => server.closeAllConnections())
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    async taken(wanted) {
      while (count < wanted) await once(server, 'taken')
    },
  }
}
