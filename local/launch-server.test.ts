/** A server whose package cannot be installed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pino from 'pino'
import { Fault } from '../core/errors.ts'
import type { Reaper } from '../core/mcp/client/stdio/reaper.ts'
import { parseManifest } from '../crds/parse.ts'
import { createManualClock } from '../test/support/manual-clock.ts'
import type { DesiredServer } from './children.ts'
import { launch } from './launch-server.ts'
import { createStderrTails } from './stderr-tails.ts'

const NOISE = Array.from({ length: 38 }, (_, at) => `npm warn deprecated package-${at}`)

test('the whole output of a failed installation is logged once, without secrets', async () => {
  const clock = createManualClock()
  const logged: Record<string, unknown>[] = []
  const log = pino({ base: null }, { write: line => logged.push(JSON.parse(line)) })
  const message = [
    'native could not be installed.',
    ...NOISE,
    'with s3cr3t-value',
    'npm error n1ce-t0k3n',
  ].join('\n')
  const upstream = launch(desired(), {
    packages: {
      ensure: async () => {
        throw new Fault('io', message, { details: { reason: 'InstallFailed' } })
      },
      installing: () => 0,
    },
    reaper: {} as Reaper,
    clock,
    log: log as unknown as Parameters<typeof launch>[1]['log'],
    tails: createStderrTails(),
    loginTokens: () => undefined,
    env: { NPM_TOKEN: 'n1ce-t0k3n' },
  })
  const lines = ['native could not be installed.', ...NOISE, 'with [redacted]', 'npm error [redacted]']
  const output = lines.join('\n')
  for (let tries = 0; tries < 2; tries++) {
    await assert.rejects(upstream.connect(AbortSignal.timeout(5_000)), { message: output })
    clock.advance(60_000)
  }
  assert.equal(logged.length, 1)
  assert.equal(logged[0]?.server, 'native')
  assert.equal(logged[0]?.output, output)
  await upstream.close()
})

function desired(): DesiredServer {
  const { manifest } = parseManifest({
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpServer',
    metadata: { name: 'native' },
    spec: { npm: { package: 'native', version: '1.0.0' } },
  })
  assert.equal(manifest?.kind, 'McpServer')
  const inputs = { env: {}, headers: {}, secrets: ['s3cr3t-value'], problems: [], digest: '', files: '' }
  return { server: manifest as DesiredServer['server'], folder: '.', inputs, users: [], knowsCallers: false }
}
