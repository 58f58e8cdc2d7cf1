/** Who reaches the console: this machine, its own pages, and callers that the gateway admits. */
import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { networkInterfaces } from 'node:os'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { buildConsole } from '../../scripts/console.ts'
import { requestBody } from '../support/mcp.ts'
import { startConsole } from './gateway.ts'

const DATA = [
  'tools',
  'tool?path=polite:echo',
  'resources',
  'search?query=echo',
  'stderr?server=polite',
  'manifest?server=polite',
  'changes?server=polite',
]
const KIB = 1_024

/** The status of a request, which may have any Host header; fetch cannot set one. */
function status(url: string, headers: Record<string, string>, method = 'GET', body = ''): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers }, response => {
      response.destroy()
      resolve(response.statusCode ?? 0)
    })
    request.on('error', reject)
    request.end(body)
  })
}

test('requests for the page or its data from other hosts, origins or sites are refused', async t => {
  const gateway = await startConsole()
  t.after(gateway.close)
  const { base } = gateway
  const own = new URL(base)
  for (const path of ['', 'console/events', ...DATA.map(one => `console/${one}`)]) {
    const url = `${base}${path}`
    assert.equal(await status(url, {}), 200, path)
    assert.equal(await status(url, { host: 'evil.example' }), 403, path)
    assert.equal(await status(url, { origin: 'https://evil.example' }), 403, path)
    if (path === '') continue
    assert.equal(await status(url, { origin: `http://localhost:${Number(own.port) + 1}` }), 403, path)
    assert.equal(await status(url, { 'sec-fetch-site': 'same-site' }), 403, path)
    assert.equal(await status(url, { origin: own.origin, 'sec-fetch-site': 'same-origin' }), 200, path)
  }
})

test('an action needs the origin of the console, JSON, a known action and a server that exists', async t => {
  const gateway = await startConsole()
  t.after(gateway.close)
  const { base } = gateway
  const { origin } = new URL(base)
  const url = `${base}console/action`
  const json = { 'content-type': 'application/json' }
  const read = JSON.stringify({ action: 'read', server: 'polite' })
  assert.equal(await status(url, { ...json }, 'POST', read), 403)
  assert.equal(await status(url, { ...json, origin: 'http://localhost:1' }, 'POST', read), 403)
  assert.equal(await status(url, { origin, 'content-type': 'text/plain' }, 'POST', read), 403)
  assert.equal(await status(url, { origin }, 'POST', read), 403)
  assert.equal(await status(url, { ...json, origin }, 'POST', read), 200)
  assert.equal(await status(url, { ...json, origin }, 'POST', read.replace('polite', 'other')), 404)
  assert.equal(await status(url, { ...json, origin }, 'POST', '{"action":"erase","server":"polite"}'), 400)
  assert.equal(await status(url, { ...json, origin }, 'POST', 'no JSON'), 400)
})

test('a connection from another machine is refused, whatever its headers say', async t => {
  const [address] = Object.values(networkInterfaces())
    .flatMap(all => all ?? [])
    .filter(({ internal, family }) => !internal && family === 'IPv4')
    .map(({ address }) => address)
  if (address === undefined) return t.skip('this machine has no address but loopback')
  const gateway = await startConsole(undefined, { host: '0.0.0.0' })
  t.after(gateway.close)
  const { port } = new URL(gateway.base)
  assert.equal(await status(`http://127.0.0.1:${port}/`, {}), 200)
  for (const path of ['', 'console/tools', 'console/events'])
    assert.equal(await status(`http://${address}:${port}/${path}`, {}), 403, path)
})

test('if the gateway distinguishes callers, the console shows only what the caller may see', async t => {
  const gateway = await startConsole(undefined, { token: 't'.repeat(32) })
  t.after(gateway.close)
  const { base } = gateway
  const authorization = `Bearer ${'t'.repeat(32)}`
  assert.equal(await status(base, {}), 200)
  for (const path of ['events', ...DATA]) {
    assert.equal(await status(`${base}console/${path}`, {}), 401, path)
    assert.equal(
      await status(`${base}console/${path}`, { authorization: `Bearer ${'x'.repeat(32)}` }),
      401,
      path,
    )
    assert.equal(await status(`${base}console/${path}`, { authorization }), 200, path)
  }
})

test('every answer has security headers and allows no other origin, and only assets are cached', async t => {
  const gateway = await startConsole()
  t.after(gateway.close)
  const { base } = gateway
  const { origin } = new URL(base)
  const [script = ''] = [...gateway.page.keys()].filter(name => name.endsWith('.js'))
  const cached: [string, string][] = [
    ['', 'no-store'],
    ['console/tools', 'no-store'],
    [`console/assets/${script}`, 'public, max-age=31536000, immutable'],
  ]
  for (const [path, cache] of cached) {
    const { headers } = await fetch(`${base}${path}`, { headers: { origin } })
    assert.match(
      headers.get('content-security-policy') ?? '',
      /default-src 'none'.*frame-ancestors 'none'.*require-trusted-types-for 'script'/,
    )
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('referrer-policy'), 'no-referrer')
    assert.equal(headers.get('cache-control'), cache)
    assert.equal(headers.get('access-control-allow-origin'), null)
  }
  assert.equal((await fetch(`${base}console/assets/..%2findex.html`)).status, 404)
  assert.equal((await fetch(`${base}console/call?seq=1`)).status, 404)
})

test('a gateway without the built page serves neither console nor data', async t => {
  const gateway = await startConsole(undefined, { page: undefined })
  t.after(gateway.close)
  for (const path of ['', 'console/tools', 'console/events'])
    assert.equal((await fetch(`${gateway.base}${path}`)).status, 404)
})

test('at most 16 event streams are open at once', async t => {
  const gateway = await startConsole()
  t.after(gateway.close)
  const stop = new AbortController()
  const open = () => fetch(`${gateway.base}console/events`, { signal: stop.signal })
  const streams = await Promise.all(Array.from({ length: 16 }, open))
  assert.ok(streams.every(({ status }) => status === 200))
  assert.equal((await open()).status, 503)
  stop.abort()
})

test('a page that opens its event stream again gets only the calls that it missed', async t => {
  const gateway = await startConsole()
  t.after(gateway.close)
  const call = () =>
    fetch(gateway.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: requestBody('tools/call', {
        name: 'execute_mcp_tool',
        arguments: { tool_path: 'polite:echo', arguments: { text: 'a' } },
      }),
    }).then(answer => answer.text())
  const read = async (lastEventId: string) => {
    const stop = new AbortController()
    const response = await fetch(`${gateway.base}console/events`, {
      signal: stop.signal,
      headers: { 'last-event-id': lastEventId },
    })
    let text = ''
    for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += part
      const found = /id: (\S+)\nevent: calls\ndata: (.*)\n\n/.exec(text)
      if (!found) continue
      stop.abort()
      const { calls } = JSON.parse(found[2] ?? '') as { calls: { seq: number; tool: string }[] }
      return { id: found[1] ?? '', calls }
    }
    throw new Error('the stream ended')
  }
  await call()
  const first = await read('')
  assert.deepEqual(
    first.calls.map(({ seq, tool }) => [seq, tool]),
    [[1, 'echo']],
  )
  await call()
  assert.deepEqual(
    (await read(first.id)).calls.map(({ seq }) => seq),
    [2],
  )
  assert.deepEqual(
    (await read('nonsense')).calls.map(({ seq }) => seq),
    [1, 2],
  )
})

test('the built page is small, and names no other host', async () => {
  const { page } = await buildConsole()
  const size = (names: string[]) =>
    names.reduce((sum, name) => sum + gzipSync(page.get(name) ?? '', { level: 9 }).length, 0)
  const names = [...page.keys()]
  const first = names.filter(name => !/^(?:charts|metrics|script|gateways|resources)-/.test(name))
  assert.equal(names.length - first.length, 5)
  assert.ok(size(first) <= 46 * KIB, `first load: ${size(first)} bytes`)
  assert.ok(size(names) <= 90 * KIB, `all: ${size(names)} bytes`)
  for (const [name, text] of page) {
    const urls = [...text.matchAll(/https?:\/\/[^\s"'`)]+/g)].map(([url]) => url)
    const foreign = urls.filter(
      url =>
        // Names of XML namespaces, and an address of this machine that the page only shows.
        !/^http:\/\/(?:www\.w3\.org\/(?:2000\/svg|1999\/xhtml|1998\/Math\/MathML)|127\.0\.0\.1:)/.test(url),
    )
    assert.deepEqual(foreign, [], name)
    assert.doesNotMatch(text, /\b(?:src|href)="\//, name)
  }
})
