/** What commands say about the gateway that they use. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { createWorkspace, scriptCommand } from '../test/support/manifests.ts'
import { runPortolan, startPortolan } from '../test/support/portolan.ts'

const RUDE = 'test/upstreams/rude/server.mjs'

test('a command with its own gateway reports the servers that do not start', async t => {
  const { cache, folder, write, remove } = createWorkspace()
  t.after(remove)
  write('good', scriptCommand(RUDE, 'polite', `mark-${process.pid}-good`))
  write('bad', { command: { run: 'no-such-command' } })
  const env = { PORTOLAN_CACHE: cache }
  const { code, stdout, stderr } = await runPortolan(['search', 'echo', folder], env)
  assert.equal(code, 0)
  assert.match(stdout, /good:echo/)
  assert.match(stderr, /^bad: \w+: .*no-such-command.*$/m)
  assert.doesNotMatch(stderr, /good/)
})

test('run says what is missing at a gateway that runs no scripts', async t => {
  const { cache, folder, write, remove } = createWorkspace()
  t.after(remove)
  write('one', scriptCommand(RUDE, 'polite', `mark-${process.pid}-run`))
  const script = join(cache, '..', 'script.js')
  writeFileSync(script, 'return 1')
  const env = { PORTOLAN_CACHE: cache }
  const up = startPortolan(['up', folder, '--port', '0', '-o', 'json'], env)
  t.after(() => up.kill('SIGKILL'))
  const [line] = await once(createInterface({ input: up.stdout }), 'line')
  const url = new URL(JSON.parse(line).url).origin
  const { code, stdout, stderr } = await runPortolan(['run', script, '--url', url], env)
  assert.deepEqual(
    [code, stdout, stderr],
    [
      1,
      '',
      `error: the gateway at ${url} runs no scripts: start it with --code, set spec.code.enabled, or give PATHs\n`,
    ],
  )
  const exited = once(up, 'exit')
  up.kill('SIGINT')
  await exited
})
