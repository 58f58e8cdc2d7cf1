/** Downloads from servers that cut connections, stall, change the file, or send wrong answers. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { serve } from '../../test/upstreams/http/serve.ts'
import { type Clock, systemClock } from '../async.ts'
import type { Fault } from '../errors.ts'
import { type DownloadOptions, download } from './fetch-url.ts'

const SIZE = 300_000
const FILE = Buffer.from(Array.from({ length: SIZE }, (_, at) => (at * 31 + (at >> 8)) & 255))
/** The delays between attempts end immediately. */
const hurried: Clock = { ...systemClock, after: (_ms, run) => systemClock.after(0, run) }

type Ask = { range?: string; ifRange?: string }
type Answer = (response: ServerResponse, ask: Ask, request: IncomingMessage) => void

/** Starts a server that gives one answer after another, repeating the last, and makes a folder to download to. */
async function setUp(t: TestContext, ...answers: Answer[]) {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-download-'))
  const asked: Ask[] = []
  const { origin, close } = await serve((request, response) => {
    const ask = { range: request.headers.range, ifRange: request.headers['if-range'] as string | undefined }
    asked.push(ask)
    answers[Math.min(asked.length, answers.length) - 1]?.(response, ask, request)
  })
  t.after(async () => {
    await close()
    rmSync(folder, { recursive: true })
  })
  const file = join(folder, 'model')
  const url = `${origin}/files/model.whl?signature=hidden`
  const start = (options: Partial<DownloadOptions> = {}, from = url) =>
    download(from, file, {
      maxBytes: 2 * SIZE,
      clock: hurried,
      signal: new AbortController().signal,
      onProgress: () => {},
      ...options,
    })
  return { asked, file, url, start, left: () => readdirSync(folder) }
}

/** A correct server: answers with the requested range if the file is still the same. */
function whole(body = FILE, etag = '"one"'): Answer {
  return (response, { range, ifRange }) => {
    const from = range && ifRange === etag ? Number(/bytes=(\d+)-/.exec(range)?.[1]) : 0
    const headers = { etag, 'content-length': body.length - from, 'accept-ranges': 'bytes' }
    if (from === 0) response.writeHead(200, headers)
    else
      response.writeHead(206, {
        ...headers,
        'content-range': `bytes ${from}-${body.length - 1}/${body.length}`,
      })
    response.end(body.subarray(from))
  }
}

/** Sends the first bytes, and closes the connection when they have arrived. */
function cutAfter(bytes: number, headers: Record<string, string> = { etag: '"one"' }) {
  let end = () => {}
  const answer: Answer = response => {
    end = () => response.destroy()
    response.writeHead(200, { 'content-length': FILE.length, ...headers })
    response.write(FILE.subarray(0, bytes))
  }
  return { answer, onProgress: (have: number) => void (have === bytes && end()) }
}

const status =
  (code: number): Answer =>
  response =>
    response.writeHead(code).end('no')

function isFile(file: string, bytes = FILE): void {
  const digest = (data: Uint8Array) => createHash('sha256').update(data).digest('hex')
  assert.equal(digest(readFileSync(file)), digest(bytes))
}

test('a file is downloaded, progress is reported, and no other file is left', async t => {
  const { start, file, left } = await setUp(t, whole())
  const reported: (number | undefined)[][] = []
  await start({ onProgress: (bytes, total) => reported.push([bytes, total]) })
  isFile(file)
  assert.deepEqual(left(), ['model'])
  assert.deepEqual(reported.at(-1), [SIZE, SIZE])
})

test('after a broken connection, the download resumes at the last byte', async t => {
  const { answer, onProgress } = cutAfter(100_000)
  const { start, file, asked } = await setUp(t, answer, whole())
  await start({ onProgress })
  isFile(file)
  assert.deepEqual(asked, [
    { range: undefined, ifRange: undefined },
    { range: 'bytes=100000-', ifRange: '"one"' },
  ])
})

test('a cancelled download is resumed by the next one from the same URL', async t => {
  const stall: Answer = response => {
    response.writeHead(200, { 'content-length': FILE.length, etag: '"one"' })
    response.write(FILE.subarray(0, 50_000))
  }
  const { start, file, asked, url } = await setUp(t, stall, stall, whole())
  for (const from of [url, url.replace('files', 'others')]) {
    const stop = new AbortController()
    const stopped = start(
      { signal: stop.signal, onProgress: bytes => void (bytes === 50_000 && stop.abort()) },
      from,
    )
    await assert.rejects(stopped, { code: 'cancelled' })
    assert.equal(existsSync(file), false)
  }
  assert.equal(asked[1]?.range, undefined)
  await start({}, url.replace('files', 'others'))
  assert.equal(asked[2]?.range, 'bytes=50000-')
  isFile(file)
})

test('if the file on the server has changed, the download restarts', async t => {
  const other = Buffer.from(FILE).reverse()
  const { answer, onProgress } = cutAfter(100_000)
  const { start, file } = await setUp(t, answer, whole(other, '"two"'))
  await start({ onProgress })
  isFile(file, other)
})

test('without a strong validator, the download restarts', async t => {
  const { answer, onProgress } = cutAfter(100_000, { etag: 'W/"weak"' })
  const { start, file, asked } = await setUp(t, answer, whole())
  await start({ onProgress })
  isFile(file)
  assert.equal(asked[1]?.range, undefined)
})

test('an answer with another range than the requested one is discarded', async t => {
  const wrong: Answer = response => {
    response.writeHead(206, { 'content-range': `bytes 7-${SIZE - 1}/${SIZE}` }).end(FILE.subarray(7))
  }
  const { answer, onProgress } = cutAfter(100_000)
  const { start, file } = await setUp(t, answer, wrong, whole())
  await start({ onProgress })
  isFile(file)
})

test('a file above the limit is refused, with or without a Content-Length', async t => {
  const withoutLength: Answer = response => {
    response.writeHead(200)
    const more = () => response.write(FILE, error => error ?? setImmediate(more))
    more()
  }
  for (const answer of [whole(), withoutLength]) {
    const { start, asked } = await setUp(t, answer)
    await assert.rejects(start({ maxBytes: SIZE - 1 }), /larger than 299999 bytes: that is not the model/)
    assert.equal(asked.length, 1)
  }
})

test('after an idle timeout, the download resumes with a new request', async t => {
  const silent: Answer = response => {
    response.writeHead(200, { 'content-length': FILE.length, etag: '"one"' })
    response.write(FILE.subarray(0, 10_000))
  }
  const { start, file, asked } = await setUp(t, silent, whole())
  await start({ idleLimitMs: 100 })
  isFile(file)
  assert.equal(asked[1]?.range, 'bytes=10000-')
})

test('a 404 is not retried, and its message does not contain the query of the URL', async t => {
  const { start, asked } = await setUp(t, status(404))
  await assert.rejects(start(), (error: Fault) => {
    assert.match(error.message, /\/files\/model\.whl answered with status 404\.$/)
    return true
  })
  assert.equal(asked.length, 1)
})

test('a server error is retried up to five times', async t => {
  const failing = await setUp(t, status(503), status(500), whole())
  await failing.start()
  isFile(failing.file)
  const dead = await setUp(t, status(500))
  await assert.rejects(dead.start(), /could not be downloaded .*status 500/)
  assert.equal(dead.asked.length, 6)
})
