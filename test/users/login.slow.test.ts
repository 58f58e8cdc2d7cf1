/** Logins of the person at a laptop: in a browser, at a real authorization server, for a server that admits nobody else. */
import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { identityOf } from '../../cli/identity.ts'
import { openBrowser, skipBrowser } from '../console/browser.ts'
import { startTestGateway } from '../support/local-gateway.ts'
import { runPortolan } from '../support/portolan.ts'
import { until } from '../support/until.ts'
import { callAs, tokenOf } from './as-user.ts'
import { openLink, start } from './login-gateway.ts'

test('after a login the lists are read and calls succeed; its token is only in a file of mode 600', async t => {
  const { origin, gateway, login, notes, log, kept } = await start(t)
  const [before] = gateway.status().servers
  assert.deepEqual([before?.state, before?.reason], ['authRequired', 'NeedsLogin'])
  assert.equal(before?.message, `log in at ${origin}/connect/notes`)
  assert.match((await callAs(origin, undefined, 'notes:about')).text, /\/connect\/notes/)
  const { back, cookie } = await openLink(origin)
  const done = await fetch(back, { headers: { cookie } })
  assert.match(await done.text(), /Logged in to <b>notes<\/b>/)
  await until(() => gateway.status().servers[0]?.state === 'ready')
  const { text, isError } = await callAs(origin, undefined, 'notes:about')
  assert.ok(!isError, text)
  const token = notes.requests.at(-1)?.authorization?.replace('Bearer ', '') ?? ''
  assert.equal(await login.verify(token, notes.url), 'ada')
  const [file = '', ...others] = kept()
  assert.deepEqual([statSync(file).mode & 0o777, others], [0o600, []])
  assert.ok(readFileSync(file, 'utf8').includes(token))
  const pages = await Promise.all(
    ['/metrics', '/debug/status', '/debug/users', '/connect/notes'].map(async path =>
      (await fetch(`${origin}${path}`)).text(),
    ),
  )
  for (const shown of [log(), ...pages]) assert.ok(!shown.includes(token.slice(-40)))
})

test('a code is exchanged once, in the browser that began, and for the server that issued it', async t => {
  const { origin, login } = await start(t)
  const first = await openLink(origin)
  const elsewhere = await fetch(first.back)
  assert.deepEqual([elsewhere.status, login.grants], [400, []])
  const second = await openLink(origin)
  second.back.searchParams.set('iss', 'https://other.example.com')
  const other = await fetch(second.back, { headers: { cookie: second.cookie } })
  assert.match(await other.text(), /not of the authorization server that was asked/)
  assert.deepEqual(login.grants, [])
  const third = await openLink(origin)
  assert.equal((await fetch(third.back, { headers: { cookie: third.cookie } })).status, 200)
  assert.equal((await fetch(third.back, { headers: { cookie: third.cookie } })).status, 400)
  const foreign = await fetch(`${origin}/connect/notes`, {
    method: 'POST',
    headers: { origin: 'http://localhost:1' },
  })
  assert.equal(foreign.status, 403)
})

test('if the server names another authorization server than its manifest, the login does not begin', async t => {
  const { origin, login } = await start(t, {}, { issuer: 'https://login.example.com' })
  const refused = await fetch(`${origin}/connect/notes`, { method: 'POST', headers: { origin } })
  assert.match(
    await refused.text(),
    /names another authorization server than spec\.auth\.perUser\.oauth\.issuer/,
  )
  assert.deepEqual([refused.status, login.grants], [502, []])
})

test('a browser can log in with `localhost` in the link instead of 127.0.0.1', {
  skip: skipBrowser(),
}, async t => {
  const { origin, state } = await start(t)
  const browser = await openBrowser()
  t.after(() => browser.close())
  const page = await browser.newPage()
  await page.goto(`${origin.replace('127.0.0.1', 'localhost')}/connect/notes`)
  await page.getByRole('button').click()
  await page.locator('[name=login]').fill('ada')
  await page.locator('[name=password]').fill('any')
  await page.locator('[type=submit]').click()
  await page.locator('[type=submit]').click()
  await page.getByText('Logged in to notes').waitFor()
  await until(() => state() === 'ready')
  assert.ok(!(await callAs(origin, undefined, 'notes:about')).isError)
})

test('callers with the token of `portolan up` are not the person at the machine, and the error says so', async t => {
  const { origin, logIn } = await start(t, { token: tokenOf('ada') })
  await logIn()
  const { text, isError } = await callAs(origin, tokenOf('ada'), 'notes:about')
  assert.ok(isError)
  assert.match(
    text,
    /login of the person at the gateway.s machine, and this caller came with a credential of its own/,
  )
})

test('with --as, the person at the machine is the user that it names', async t => {
  const { origin, logIn } = await start(t, { as: identityOf({ as: ['token:ada'] }) })
  await logIn('token#ada')
  assert.ok(!(await callAs(origin, undefined, 'notes:about')).isError)
})

test('a gateway without an issuer of its callers does not accept the server, and serves no login page', async t => {
  const { space } = await start(t)
  const portolan = (...args: string[]) => runPortolan(['check', ...args, space.folder])
  const gateway = {
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpGateway',
    metadata: { name: 'tools' },
    spec: { auth: { tokens: { secretName: 'callers' } } },
  }
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'callers' },
    stringData: { ada: tokenOf('ada') },
  }
  writeFileSync(join(space.folder, 'gateway.json'), JSON.stringify(gateway))
  writeFileSync(join(space.folder, 'callers.json'), JSON.stringify(secret))
  const { stdout, code } = await portolan('--output', 'json')
  const { problems } = JSON.parse(stdout) as { problems: { path?: string; reason: string }[] }
  assert.ok(
    problems.some(({ path, reason }) => path === 'spec.auth.perUser.oauth' && reason === 'CallersUnknown'),
    stdout,
  )
  assert.equal(code, 1)
  const served = await startTestGateway(space)
  t.after(() => served.close())
  assert.equal(served.status().servers[0]?.state, 'notAccepted')
  assert.equal((await fetch(`${new URL(served.url).origin}/connect/notes`)).status, 404)
})
