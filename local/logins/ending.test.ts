/** A local gateway that shuts down while it renews a login: the new token is in the file before the process ends. If its server is deleted meanwhile, no login stays. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import { LOCAL_USER } from '../../core/mcp/user.ts'
import { BrowserLogins } from '../../router/logins/browser-logins.ts'
import { Logins } from '../../router/logins/logins.ts'
import { createSeal } from '../../router/logins/seal.ts'
import { keptLogin } from '../../test/upstreams/users/kept-login.ts'
import { callbackUrl, startQuickLoginServer } from '../../test/upstreams/users/quick-login-server.ts'
import { LoginFiles } from './login-files.ts'

async function start(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'portolan-logins-'))
  const server = await startQuickLoginServer()
  t.after(() => Promise.all([server.close(), rm(folder, { recursive: true })]))
  const store = new LoginFiles(folder)
  const browsers = new BrowserLogins(createSeal(randomBytes(32)), systemClock)
  const logins = new Logins({ store, browsers, clock: systemClock })
  const asked = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  server.before.token = () => {
    asked.resolve()
    return answered.promise
  }
  const upstream = { url: server.url, transport: 'streamable-http' as const }
  const target = { name: 'notes', upstream, scopes: [] }
  return { server, store, browsers, logins, target, asked: asked.promise, answer: answered.resolve }
}

test('a renewed token is in its file once all work has settled, even if its caller cancelled', async t => {
  const { server, store, logins, target, asked, answer } = await start(t)
  await logins.settled()
  await store.write(keptLogin(server, LOCAL_USER, 'first'), LOCAL_USER)
  const caller = new AbortController()
  const tokens = logins.tokens(target, LOCAL_USER, async () => 'http://127.0.0.1/connect/notes')
  const call = tokens.token(caller.signal, 'first')
  await asked
  caller.abort()
  await assert.rejects(call, { code: 'cancelled' })
  const settled = logins.settled()
  answer()
  await settled
  const { access_token: token } = (await store.read('notes', server.url, LOCAL_USER))?.tokens ?? {}
  assert.ok(token && token !== 'first')
  assert.ok(server.tokens.includes(token))
})

test('a login that is completed while its server is deleted does not stay', async t => {
  const { server, store, browsers, logins, target, asked, answer } = await start(t)
  const { to, cookie } = await logins.begin(target, LOCAL_USER, 'http://127.0.0.1/connect/notes/callback')
  const { searchParams } = callbackUrl(to, 'ada')
  const [state = '', code = ''] = ['state', 'code'].map(name => searchParams.get(name) ?? '')
  const begun = browsers.take(state, cookie, 'notes')
  const finished = logins.finish(target, begun, { state, code, iss: server.issuer })
  await asked
  const forgotten = logins.forget('notes', () => store.deleteOf('notes'))
  answer()
  await Promise.all([finished, forgotten])
  assert.equal(await store.read('notes', server.url, LOCAL_USER), undefined)
})
