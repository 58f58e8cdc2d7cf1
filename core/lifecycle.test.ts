/** The first signal shuts a process down gracefully, a second one ends it immediately. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { createManualClock } from '../test/support/manual-clock.ts'
import { onShutdown } from './lifecycle.ts'

const MODULE = new URL('./lifecycle.ts', import.meta.url)

/** Starts a process that calls onShutdown. The expression `closing` is its `close`; a message with a number advances its clock. */
async function start(t: TestContext, closing: string): Promise<ChildProcess> {
  const code = `
    import { onShutdown } from '${MODULE}'
    let elapsed = 0
    process.on('message', ms => { elapsed += ms; process.send('later') })
    onShutdown(reason => { if (process.connected) process.send(reason); return ${closing} }, { elapsed: () => elapsed })
    setInterval(() => {}, 1_000)
    process.send('up')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  t.after(() => child.kill('SIGKILL'))
  await once(child, 'message')
  return child
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  test(`${signal} closes and ends the process with 0`, async t => {
    const child = await start(t, 'Promise.resolve()')
    const [reason, ended] = [once(child, 'message'), once(child, 'exit')]
    child.kill(signal)
    assert.deepEqual((await reason)[0], signal)
    assert.deepEqual(await ended, [0, null])
  })
}

test('a process whose close fails exits with 1', async t => {
  const child = await start(t, 'Promise.reject(new Error("no"))')
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'exit'), [1, null])
})

test('the process also ends when its parent disconnects', async t => {
  const child = await start(t, 'Promise.resolve()')
  child.disconnect()
  assert.deepEqual(await once(child, 'exit'), [0, null])
})

test('a second signal is ignored within a second, and after that ends the process immediately', async t => {
  const child = await start(t, 'new Promise(() => {})')
  child.kill('SIGINT')
  await once(child, 'message')
  child.kill('SIGINT')
  child.send(1_001)
  assert.deepEqual((await once(child, 'message'))[0], 'later')
  child.kill('SIGINT')
  assert.deepEqual(await once(child, 'exit'), [130, null])
})

test('listeners can be removed', () => {
  const before = process.listenerCount('SIGTERM')
  const removeListeners = onShutdown(async () => {}, createManualClock())
  assert.equal(process.listenerCount('SIGTERM'), before + 1)
  removeListeners()
  assert.equal(process.listenerCount('SIGTERM'), before)
})
