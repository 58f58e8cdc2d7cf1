/** Credentials in PORTOLAN_TOKEN and in `--url` that cannot be used are refused with the reason, and not printed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createWorkspace } from '../test/support/manifests.ts'
import { runPortolan } from '../test/support/portolan.ts'

const LONG = 'x'.repeat(32)

test('up refuses a PORTOLAN_TOKEN that no caller can send', async t => {
  const { cache, folder, remove } = createWorkspace()
  t.after(remove)
  const up = ['up', folder, '--host', '0.0.0.0', '--port', '0']
  for (const token of [`${LONG} x`, `${LONG}ä`]) {
    const env = { PORTOLAN_CACHE: cache, PORTOLAN_TOKEN: token }
    const { code, stdout, stderr } = await runPortolan(up, env)
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, /PORTOLAN_TOKEN has characters that a token cannot have: use A-Z.*= at the end/)
    assert.ok(!stderr.includes(LONG))
  }
})

test('commands refuse a token or URL whose credentials cannot be sent, without printing them', async t => {
  const { cache, remove } = createWorkspace()
  t.after(remove)
  const search = (token: string, url: string) =>
    runPortolan(['search', 'x', '--url', url], { PORTOLAN_CACHE: cache, PORTOLAN_TOKEN: token })
  const [broken, foreign, withPassword] = await Promise.all([
    search(`${LONG}\n${LONG}`, 'http://127.0.0.1:9'),
    search(`${LONG}€`, 'http://127.0.0.1:9'),
    search('', 'http://user:s3cret@127.0.0.1:9'),
  ])
  for (const { code, stdout, stderr } of [broken, foreign, withPassword]) {
    assert.deepEqual([code, stdout], [2, ''], stderr)
    assert.doesNotMatch(stderr, /xxx|s3cret/)
  }
  assert.match(broken.stderr, /PORTOLAN_TOKEN has characters that a token cannot have/)
  assert.match(foreign.stderr, /PORTOLAN_TOKEN has characters that a token cannot have/)
  assert.match(withPassword.stderr, /--url must not have credentials: .*PORTOLAN_TOKEN/)
})
