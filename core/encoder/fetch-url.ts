/** Downloads one large file of limited size, and resumes interrupted downloads. */
import { createHash } from 'node:crypto'
import { open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { EnvHttpProxyAgent, fetch, type Response } from 'undici'
import { type Clock, delay } from '../async.ts'
import { backoffMs } from '../backoff.ts'
import { Fault, messageOf } from '../errors.ts'
import { isObject } from '../json.ts'

const IDLE_LIMIT_MS = 30_000
/** Consecutive failures without any progress. */
const MAX_FAILURES = 5
const RETRY = { firstMs: 500, longestMs: 8_000 }
const RANGE_NOT_SATISFIABLE = 416
const TRANSIENT = new Set([408, 425, 429, RANGE_NOT_SATISFIABLE])

export type DownloadOptions = {
  maxBytes: number
  clock: Clock
  signal: AbortSignal
  /** Called for every chunk; the total is known if the server sends a Content-Length. */
  onProgress: (bytes: number, total?: number) => void
  /** How long a server may send nothing before the request is repeated. */
  idleLimitMs?: number
}

/**
 * Resolves when `file` is complete. Until then the bytes are in `<file>.part`; a later call resumes from there if the server still has
 * the same file. Uses the proxies of the environment. Throws Fault `io` or `cancelled`.
 */
export async function download(url: string, file: string, options: DownloadOptions): Promise<void> {
  const idleMs = options.idleLimitMs ?? IDLE_LIMIT_MS
  const agent = new EnvHttpProxyAgent({ headersTimeout: idleMs, bodyTimeout: idleMs })
  const part = `${file}.part`
  try {
    for (let failures = 0; ; ) {
      const before = await sizeOf(part)
      const failed = await attempt(url, part, agent, options).catch((error: unknown) => error)
      if (failed === undefined) break
      if (options.signal.aborted) throw new Fault('cancelled', 'The download was stopped.')
      if (failed instanceof Fault && !failed.retryable) throw failed
      failures = (await sizeOf(part)) > before ? 1 : failures + 1
      if (failures > MAX_FAILURES) throw gaveUp(url, failed)
      await delay(options.clock, backoffMs(RETRY, failures - 1, Math.random), options.signal).catch(() => {})
    }
  } finally {
    await agent.destroy()
  }
  await rename(part, file)
  await rm(validatorFile(part), { force: true })
}

/** Deletes a finished or partial download. */
export async function forgetDownload(file: string): Promise<void> {
  for (const path of [file, `${file}.part`, validatorFile(`${file}.part`)]) await rm(path, { force: true })
}

/** Makes one request for the rest of the file. Keeps the received bytes, and throws unless the file is complete. */
async function attempt(
  url: string,
  part: string,
  dispatcher: EnvHttpProxyAgent,
  options: DownloadOptions,
): Promise<void> {
  const validator = await readValidator(part, url)
  const receivedBytes = validator === undefined ? 0 : await sizeOf(part)
  const resume = validator !== undefined && receivedBytes > 0
  const range: Record<string, string> = resume
    ? { range: `bytes=${receivedBytes}-`, 'if-range': validator }
    : {}
  const response = await fetch(url, {
    headers: { 'accept-encoding': 'identity', ...range },
    dispatcher,
    signal: options.signal,
  })
  const from = resume && startOf(response) === receivedBytes ? receivedBytes : 0
  if (!response.ok || !response.body || (response.status === 206 && from === 0)) {
    await response.body?.cancel()
    if (resume && response.status !== 503) await rm(part, { force: true })
    throw refused(url, response)
  }
  const length = response.headers.get('content-length')
  const total = length === null ? undefined : from + Number(length)
  if (total !== undefined && total > options.maxBytes) throw tooLarge(url, options.maxBytes)
  if (from === 0) await writeValidator(part, url, response)
  const bytes = await append(response.body, part, { from, total, url, options })
  if (total !== undefined && bytes < total) throw new Error(`the connection ended after ${bytes} bytes`)
}

type Appending = { from: number; total?: number; url: string; options: DownloadOptions }

/** Resolves with the new size of the file. */
async function append(
  body: AsyncIterable<Uint8Array>,
  part: string,
  { from, total, url, options }: Appending,
): Promise<number> {
  const output = await open(part, from > 0 ? 'a' : 'w')
  let bytes = from
  try {
    for await (const chunk of body) {
      bytes += chunk.length
      if (bytes > options.maxBytes) throw tooLarge(url, options.maxBytes)
      await output.writeFile(chunk)
      options.onProgress(bytes, total)
    }
    return bytes
  } finally {
    await output.close()
  }
}

/** The offset at which the answer begins; undefined if it is the whole file. */
function startOf(response: Response): number | undefined {
  const match = /^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '')
  return response.status === 206 && match ? Number(match[1]) : undefined
}

/** Stores the value for If-Range, which tells whether the server still has the same file. It must be strong (RFC 9110, 13.1.5). */
async function writeValidator(part: string, url: string, { headers }: Response): Promise<void> {
  const etag = headers.get('etag')
  const validator = etag && !etag.startsWith('W/') ? etag : headers.get('last-modified')
  await writeFile(validatorFile(part), JSON.stringify({ url: digest(url), validator }))
}

async function readValidator(part: string, url: string): Promise<string | undefined> {
  try {
    const kept: unknown = JSON.parse(await readFile(validatorFile(part), 'utf8'))
    if (!isObject(kept) || kept.url !== digest(url)) return undefined
    return typeof kept.validator === 'string' ? kept.validator : undefined
  } catch {
    return undefined
  }
}

function validatorFile(part: string): string {
  return `${part}.json`
}

/** A URL may contain a secret, so its digest is stored instead. */
function digest(url: string): string {
  return createHash('sha256').update(url).digest('hex')
}

async function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  )
}

function refused(url: string, { status }: Response): Fault {
  const retryable = status >= 500 || status === 206 || TRANSIENT.has(status)
  return new Fault('io', `${shown(url)} answered with status ${status}.`, { retryable })
}

function tooLarge(url: string, maxBytes: number): Fault {
  return new Fault('io', `The file at ${shown(url)} is larger than ${maxBytes} bytes: that is not the model.`)
}

function gaveUp(url: string, cause: unknown): Fault {
  const inner = cause instanceof Error && cause.cause !== undefined ? `: ${messageOf(cause.cause)}` : ''
  return new Fault('io', `${shown(url)} could not be downloaded (${messageOf(cause)}${inner}).`, { cause })
}

/** The URL without its query and credentials, which may be secret. */
function shown(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}
