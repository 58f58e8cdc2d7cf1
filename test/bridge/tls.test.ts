/** A bridge with TLS, called as routers call it: its certificate is replaced during calls, and no call is lost. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { startBridge } from '../../bridge/bridge.ts'
import { REREAD_CERTIFICATE_MS } from '../../bridge/certificate.ts'
import { systemClock } from '../../core/async.ts'
import { createLog } from '../../core/log.ts'
import { createConnector } from '../../core/mcp/client/connector.ts'
import { withFormer } from '../../operator/plan/certificate.ts'
import { createSelfSigned, type SelfSigned } from '../../operator/runtime/self-signed.ts'
import { callOf } from '../support/call.ts'
import { createLeapClock } from '../support/leap-clock.ts'
import { until } from '../support/until.ts'
import { rudeCommand } from '../upstreams/rude/rude.ts'

const HOST = 'localhost'
const AUTHORITY = { name: 'mcp-kit', key: 'ca.crt' }
const never = new AbortController().signal

test('a new certificate is used once callers had time to learn of it, and no call is lost', async t => {
  const [first, second] = await Promise.all([newCertificate(), newCertificate()])
  const { folder, clock, connect, secrets } = await start(t, first)
  const upstream = connect()
  await echo(upstream)
  secrets['mcp-kit'] = { 'ca.crt': second.cert }
  await assert.rejects(echo(connect()), { code: 'upstream_unreachable', message: /not trusted/ })
  write(folder, second)
  clock.advance(REREAD_CERTIFICATE_MS)
  await assert.rejects(echo(connect()), { code: 'upstream_unreachable' })
  secrets['mcp-kit'] = { 'ca.crt': withFormer(second.cert, first.cert) }
  await echo(connect())
  const calls = Array.from({ length: 20 }, () => echo(upstream))
  clock.advance(REREAD_CERTIFICATE_MS)
  await Promise.all([...calls, ...Array.from({ length: 20 }, () => echo(connect()))])
  secrets['mcp-kit'] = { 'ca.crt': withFormer(second.cert, undefined) }
  await echo(connect())
  await echo(upstream)
})

test('a certificate with the key of another one is not used, and a bridge does not start with such files', async t => {
  const [first, second] = await Promise.all([newCertificate(), newCertificate()])
  const { folder, clock, connect } = await start(t, first)
  write(folder, { cert: first.cert, key: second.key })
  clock.advance(REREAD_CERTIFICATE_MS)
  clock.advance(REREAD_CERTIFICATE_MS)
  await echo(connect())
  await assert.rejects(startIn(t, folder, clock), { code: 'io', message: /cannot be used: .*mismatch/ })
})

test('callers with TLS 1.2 are refused before and after the certificate is replaced', async t => {
  const [first, second] = await Promise.all([newCertificate(), newCertificate()])
  const { port, folder, clock, connect, secrets } = await start(t, first)
  await assert.rejects(shakeHands(port, 'TLSv1.2'), /protocol version/)
  secrets['mcp-kit'] = { 'ca.crt': second.cert }
  write(folder, second)
  clock.advance(REREAD_CERTIFICATE_MS)
  clock.advance(REREAD_CERTIFICATE_MS)
  await echo(connect())
  await shakeHands(port, 'TLSv1.3')
  await assert.rejects(shakeHands(port, 'TLSv1.2'), /protocol version/)
})

test('a caller without TLS gets no answer', async t => {
  const { port } = await start(t, await newCertificate())
  await assert.rejects(fetch(`http://${HOST}:${port}/healthz`))
})

async function start(t: TestContext, certificate: SelfSigned) {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-tls-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  write(folder, certificate)
  const clock = createLeapClock()
  const { port } = await startIn(t, folder, clock)
  const secrets: Record<string, Record<string, string>> = { 'mcp-kit': { 'ca.crt': certificate.cert } }
  const connect = () => {
    const upstream = createConnector({ secret: name => secrets[name], clock: systemClock })({
      name: 'kit',
      sessions: 'shared',
      limits: { startTimeoutMs: 10_000 },
      endpoint: {
        kind: 'http',
        url: `https://${HOST}:${port}/mcp`,
        transport: 'streamable-http',
        revision: '1',
        authority: AUTHORITY,
      },
    })
    t.after(() => upstream.close())
    return upstream
  }
  await until(async () => (await echo(connect()).catch(() => undefined)) !== undefined)
  return { port, folder, clock, secrets, connect }
}

async function startIn(t: TestContext, tlsFolder: string, clock: ReturnType<typeof createLeapClock>) {
  const command = { ...rudeCommand('polite'), startTimeoutMs: 10_000 }
  const options = {
    host: '127.0.0.1',
    port: 0,
    name: 'kit',
    sessions: 'shared',
    idleAfterMs: 60_000,
  } as const
  const bridge = await startBridge(
    { ...options, command, tlsFolder },
    { clock, log: createLog({ level: 'silent' }), random: () => 0 },
  )
  t.after(() => bridge.close(0))
  return bridge
}

async function echo(upstream: ReturnType<ReturnType<typeof createConnector>>): Promise<unknown> {
  const params = { name: 'echo', arguments: { text: 'x' } }
  return upstream.request(callOf({ params }), never)
}

/** Rejects if the bridge refuses this version of TLS. */
async function shakeHands(port: number, version: 'TLSv1.2' | 'TLSv1.3'): Promise<void> {
  const versions = { minVersion: version, maxVersion: version } as const
  const socket = connectTls({ host: HOST, port, rejectUnauthorized: false, ...versions })
  try {
    await once(socket, 'secureConnect')
  } finally {
    socket.destroy()
  }
}

function newCertificate(): Promise<SelfSigned> {
  return createSelfSigned(HOST, Date.now())
}

function write(folder: string, { cert, key }: SelfSigned): void {
  writeFileSync(join(folder, 'tls.crt'), cert)
  writeFileSync(join(folder, 'tls.key'), key)
}
