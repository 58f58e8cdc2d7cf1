/** How an installer's command ends if it takes too long, is cancelled, or leaves processes behind. */
import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { marked, untilGone } from '../../test/support/processes-left.ts'
import { installPypi } from './pypi.ts'
import { run } from './run.ts'

const env = { PATH: process.env.PATH ?? '' }
const FOREVER = ['-e', 'setInterval(() => {}, 1_000)']

test('a command that takes too long is ended, and the error names the limit', async () => {
  const { signal } = new AbortController()
  await assert.rejects(run(process.execPath, FOREVER, { env, signal, limitMs: 50 }), {
    code: 'io',
    message: /^`.* -e .*` was ended because it took longer than 0\.05 s:/,
  })
})

test('a cancelled installation is reported as cancelled, also before a Python was found', async () => {
  const stop = new AbortController()
  const running = run(process.execPath, FOREVER, { env, signal: stop.signal })
  stop.abort()
  await assert.rejects(running, { code: 'cancelled' })
  const source = { kind: 'pypi', package: 'greeter', version: '1.0.0' } as const
  const folder = join(tmpdir(), 'portolan-never-made')
  await assert.rejects(installPypi(source, folder, { env: {}, signal: AbortSignal.abort() }), {
    name: 'Fault',
    code: 'cancelled',
  })
})

test('processes that an installation leaves behind do not delay its end; those of its group are killed', {
  timeout: 20_000,
}, async t => {
  const [apart, inGroup] = [`61.1${process.pid}`, `61.2${process.pid}`]
  const leave = (mark: string, detached: boolean) =>
    `spawn('sleep', ['${mark}'], { detached: ${detached}, stdio: 'inherit' })`
  const code = `const { spawn } = require('node:child_process'); ${leave(apart, true)}; ${leave(inGroup, false)}`
  t.after(() => {
    for (const pid of marked(apart)) process.kill(pid)
  })
  const { signal } = new AbortController()
  const script = `${code}; console.log('installed'); process.exit()`
  assert.equal(await run(process.execPath, ['-e', script], { env, signal }), 'installed\n')
  assert.equal(marked(apart).length, 1)
  assert.deepEqual(await untilGone(inGroup), [])
})
