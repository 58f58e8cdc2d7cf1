/** A local gateway that shuts down while it renews a login: the new token is in the file before the process ends. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import { LOCAL_USER } from '../../core/mcp/user.ts'
import { BrowserLogins } from '../../router/logins/browser-logins.ts'
import { Logins } from '../../router/logins/logins.ts'
import { createSeal } from '../../router/logins/seal.ts'
import { keptLogin } from '../../test/upstreams/users/kept-login.ts'
import { startQuickLoginServer } from '../../test/upstreams/users/quick-login-server.ts'
import { LoginFiles } from './login-files.ts'

test('a renewed token is in its file once all work has settled, even if its caller cancelled', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'portolan-logins-'))
  const server = await startQuickLoginServer()
  t.after(() => Promise.all([server.close(), rm(folder, { recursive: true })]))
  const store = new LoginFiles(folder)
  const browsers = new BrowserLogins(createSeal(randomBytes(32)), systemClock)
  const logins = new Logins({ store, browsers, clock: systemClock })
  await logins.settled()
  await store.write(keptLogin(server, LOCAL_USER, 'first'), LOCAL_USER)
  const asked = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  server.before.token = () => {
    asked.resolve()
    return answered.promise
  }
  const target = {
    name: 'notes',
    upstream: { url: server.url, transport: 'streamable-http' as const },
    scopes: [],
  }
  const caller = new AbortController()
  const tokens = logins.tokens(target, LOCAL_USER, async () => 'http://127.0.0.1/connect/notes')
  const call = tokens.token(caller.signal, 'first')
  await asked.promise
  caller.abort()
  await assert.rejects(call, { code: 'cancelled' })
  const settled = logins.settled()
  answered.resolve()
  await settled
  const { access_token: token } = (await store.read('notes', server.url, LOCAL_USER))?.tokens ?? {}
  assert.ok(token && token !== 'first')
  assert.ok(server.tokens.includes(token))
})
