/** What commands say about the gateway that they use. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createWorkspace, scriptCommand } from '../test/support/manifests.ts'
import { runPortolan } from '../test/support/portolan.ts'

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
