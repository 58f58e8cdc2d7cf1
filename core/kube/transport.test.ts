/** Requests to an API server: credentials, limits and errors, against a real HTTP server. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createManualClock } from '../../test/support/manual-clock.ts'
import type { Credentials } from './access.ts'
import { Transport, type TransportOptions } from './transport.ts'

const READ = { method: 'GET', path: '/api/v1/pods' } as const

test('credentials are cached for a minute', async t => {
  const clock = createManualClock()
  const { transport, seen, tokens } = await start(t, (_, response) => response.end('{}'), { clock })
  await transport.send(READ)
  tokens.current = 'second'
  clock.advance(59_999)
  await transport.send(READ)
  clock.advance(1)
  await transport.send(READ)
  assert.deepEqual(seen, ['Bearer first', 'Bearer first', 'Bearer second'])
})

for (const path of ['/k8s/clusters/c-1', '/k8s/clusters/c-1/']) {
  test(`requests to a server at ${path} have this path in front of their own`, async t => {
    const paths: (string | undefined)[] = []
    const { transport } = await start(t, ({ url }, response) => response.end(`${paths.push(url)}`), { path })
    await transport.send({ ...READ, query: { limit: 1 } })
    await transport.open(READ, new AbortController().signal)
    assert.deepEqual(paths, ['/k8s/clusters/c-1/api/v1/pods?limit=1', '/k8s/clusters/c-1/api/v1/pods'])
  })
}

for (const sort of ['request', 'watch'] as const) {
  test(`after a 401 the credentials are read once more, and the ${sort} is sent again`, async t => {
    const { transport, seen, tokens } = await start(t, (request, response) => {
      response.statusCode = request.headers.authorization === 'Bearer first' ? 401 : 200
      response.end('{}')
    })
    tokens.queue = ['first', 'second']
    await (sort === 'watch' ? transport.open(READ, new AbortController().signal) : transport.send(READ))
    assert.deepEqual(seen, ['Bearer first', 'Bearer second'])
  })
}

test('a 401 is final, without a second request, if the credentials have not changed', async t => {
  const { transport, seen } = await start(t, (_, response) => response.writeHead(401).end('no'))
  await assert.rejects(transport.send(READ), { status: 401, reason: 'Unauthorized', retryable: false })
  assert.equal(seen.length, 1)
})

test('the last credentials stay in use while they cannot be read again', async t => {
  const clock = createManualClock()
  const { transport, seen, tokens } = await start(t, (_, response) => response.end('{}'), { clock })
  await transport.send(READ)
  tokens.current = undefined
  clock.advance(60_000)
  await transport.send(READ)
  assert.deepEqual(seen, ['Bearer first', 'Bearer first'])
})

test('concurrent requests read the credentials once', async t => {
  const { transport, tokens } = await start(t, (_, response) => response.end('{}'))
  await Promise.all([transport.send(READ), transport.send(READ), transport.send(READ)])
  assert.equal(tokens.readings, 1)
})

test("an error has the server's reason and Retry-After", async t => {
  const status = { kind: 'Status', code: 429, reason: 'TooManyRequests', message: 'slow down' }
  const { transport } = await start(t, (_, response) =>
    response.writeHead(429, { 'retry-after': '2' }).end(JSON.stringify(status)),
  )
  await assert.rejects(transport.send(READ), {
    name: 'ApiError',
    status: 429,
    reason: 'TooManyRequests',
    retryable: true,
    retryAfterMs: 2_000,
    message: 'The API server answered 429: slow down',
  })
})

test('an error page of a proxy is an ApiError, too', async t => {
  const { transport } = await start(t, (_, response) => response.writeHead(502).end('<html>bad gateway'))
  await assert.rejects(transport.send(READ), { status: 502, reason: 'InternalError', retryable: true })
})

test('an answer whose body does not end is a timeout', async t => {
  const { transport } = await start(t, (_, response) => void response.write('{'), { timeoutMs: 50 })
  await assert.rejects(transport.send(READ), { status: 0, reason: 'Timeout', retryable: true })
})

test('an open watch is not subject to the request timeout', async t => {
  const clock = createManualClock()
  const { transport } = await start(
    t,
    (_, response) => {
      response.write('one')
      go.promise.then(() => response.end('two'))
    },
    { clock, timeoutMs: 50 },
  )
  const go = Promise.withResolvers<void>()
  const body = await transport.open(READ, new AbortController().signal)
  clock.advance(1_000)
  go.resolve()
  let text = ''
  for await (const chunk of body) text += chunk
  assert.equal(text, 'onetwo')
})

test("a cancelled request rejects with the fault of the caller's signal", async t => {
  const controller = new AbortController()
  const { transport } = await start(t, () => controller.abort())
  await assert.rejects(transport.send(READ, controller.signal), { code: 'cancelled' })
})

test('closing also ends a watch that began before the certificates were replaced', async t => {
  const clock = createManualClock()
  const { transport, tokens } = await start(t, (_, response) => void response.write('one'), { clock })
  const watch = await transport.open(READ, new AbortController().signal)
  tokens.tls = { servername: 'other' }
  clock.advance(60_000)
  await transport.open(READ, new AbortController().signal)
  await transport.close()
  await assert.rejects(async () => {
    for await (const _ of watch);
  })
})

test('closing also ends a watch that began before a request timed out', async t => {
  const clock = createManualClock()
  const asked = Promise.withResolvers<void>()
  const { transport } = await start(
    t,
    (request, response) => {
      if (request.url?.includes('watch')) response.write('one')
      else asked.resolve()
    },
    { clock, timeoutMs: 50 },
  )
  const watch = await transport.open({ ...READ, query: { watch: true } }, new AbortController().signal)
  const silent = assert.rejects(transport.send(READ), { reason: 'Timeout' })
  await asked.promise
  clock.advance(50)
  await silent
  await transport.close()
  await assert.rejects(async () => {
    for await (const _ of watch);
  })
})

test('a request times out if the credentials cannot be read in time', async () => {
  const credentials = () => new Promise<Credentials>(() => {})
  const access = { server: 'http://127.0.0.1:1', namespace: 'ns', credentials }
  const transport = new Transport(access, { timeoutMs: 20 })
  await assert.rejects(transport.send(READ), { status: 0, reason: 'Timeout' })
  await assert.rejects(transport.open(READ, AbortSignal.timeout(1_000)), { status: 0, reason: 'Timeout' })
})

test('an unreachable server is a retryable error', async () => {
  const credentials = async () => ({ headers: {}, tls: {} })
  const transport = new Transport({ server: 'http://127.0.0.1:1', namespace: 'ns', credentials })
  await assert.rejects(transport.send(READ), { status: 0, reason: 'Unreachable', retryable: true })
  await transport.close()
  await assert.rejects(transport.send(READ), { status: 0 })
})

/** `path`: of the server's URL. */
async function start(
  t: TestContext,
  answer: RequestListener,
  { path = '', ...options }: TransportOptions & { path?: string } = {},
) {
  const seen: (string | undefined)[] = []
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization)
    answer(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const tokens = { current: 'first' as string | undefined, queue: [] as string[], readings: 0, tls: {} }
  const credentials = async (): Promise<Credentials> => {
    tokens.readings++
    const token = tokens.queue.shift() ?? tokens.current
    if (!token) throw new Error('no such file')
    return { headers: { authorization: `Bearer ${token}` }, tls: tokens.tls }
  }
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`
  const transport = new Transport({ server: address, namespace: 'ns', credentials }, options)
  t.after(async () => {
    await transport.close()
    server.closeAllConnections()
    server.close()
  })
  return { transport, seen, tokens }
}
