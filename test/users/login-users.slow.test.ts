/** Users of a laptop's gateway log in at the issuer of its callers first, then at the upstream's authorization server, each with their own account. */
import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { test } from 'node:test'
import { REMOVED_AFTER_MS } from '../../local/logins/removed-servers.ts'
import { openBrowser, skipBrowser } from '../console/browser.ts'
import { createLeapClock } from '../support/leap-clock.ts'
import { runPortolan } from '../support/portolan.ts'
import { until } from '../support/until.ts'
import { callbackUrl } from '../upstreams/users/quick-login-server.ts'
import {
  FOR_LISTS,
  gatewayOf,
  type Provider,
  pageOf,
  press,
  QUICK,
  REAL,
  secretOf,
  start,
} from './issuer-gateway.ts'

const AT_ONCE = 8

test('two users log in at once, and each uses their own account, with a token that is renewed once and shown nowhere', async t => {
  const world = await start(t, { providers: REAL })
  const { origin, login, notes, issuer, about, open, linkOf, accountIn, kept, log } = world
  const asked = await Promise.all(['ada', 'ben'].map(about))
  assert.ok(asked[0]?.text.endsWith(linkOf('ada')) && asked[1]?.text.endsWith(linkOf('ben')), asked[0]?.text)
  assert.match((await about('robot')).text, /no person logs in with/)
  assert.match(await open(linkOf('ada'), 'ben', 'eve'), /^403 .*This link is for somebody else/s)
  assert.deepEqual(login.grants, [])
  const done = await Promise.all(['ada', 'ben'].map(who => open(linkOf(who), who)))
  assert.match(done[0] ?? '', /^200 .*Logged in to <b>notes<\/b> for http:\S+#ada/s)
  assert.match(done[1] ?? '', /^200 .*Logged in to <b>notes<\/b> for http:\S+#ben/s)
  const callers = Array.from({ length: AT_ONCE }, (_, at) => (at % 2 === 0 ? 'ada' : 'ben'))
  const accounts = async () =>
    Promise.all(callers.map(async who => [who, await accountIn(await about(who))] as const))
  for (const [who, account] of await accounts()) assert.equal(account, `${who}-at-notes`)
  login.grants.length = 0
  notes.refuse(await about('ada'))
  for (const [who, account] of await accounts()) assert.equal(account, `${who}-at-notes`)
  assert.deepEqual(login.grants, ['refresh_token'])

  assert.deepEqual(
    kept().map(file => statSync(file).mode & 0o777),
    [0o600, 0o600],
  )
  const files = kept().map(file => JSON.parse(readFileSync(file, 'utf8')) as { tokens: object })
  const tokens = files.flatMap(file => Object.values(file.tokens).filter(value => String(value).length > 40))
  const pages = await Promise.all(
    ['/metrics', '/debug/status', '/debug/users', '/connect/notes'].map(async path =>
      (await fetch(`${origin}${path}`)).text(),
    ),
  )
  const shown = [log(), ...pages, (await about('ben')).text.replaceAll(/Bearer [\w.-]+/g, '')]
  for (const token of [...tokens, await issuer.tokenFor('ada', `${origin}/mcp`)])
    for (const text of shown) assert.ok(!text.includes(String(token).slice(-40)))
  const lists = notes.requests.filter(({ method }) => method === 'tools/list')
  assert.deepEqual([...new Set(lists.map(({ authorization }) => authorization))], [FOR_LISTS])
})

test('a browser that opens the link logs in at both servers, even if the link says localhost instead of 127.0.0.1', {
  skip: skipBrowser(),
}, async t => {
  const { origin, issuer, login, about, linkOf, accountIn } = await start(t, { providers: REAL })
  const browser = await openBrowser()
  t.after(() => browser.close())
  const page = await browser.newPage()
  const logInAs = async (who: string) => {
    await page.locator('[name=login]').fill(who)
    await page.locator('[name=password]').fill('any')
    await page.locator('[type=submit]').click()
    await page.locator('[type=submit]').click()
  }
  await page.goto(linkOf('ada').replace('127.0.0.1', 'localhost'))
  await page.getByRole('button', { name: `Log in at ${issuer.issuer}` }).click()
  await logInAs('ada')
  await page.getByText(`You are ${issuer.issuer}#ada`).waitFor()
  assert.equal(new URL(page.url()).origin, origin)
  await page.getByRole('link', { name: `Log in at ${login.issuer}` }).click()
  await logInAs('ada-at-notes')
  await page.getByText('Logged in to notes').waitFor()
  assert.deepEqual(
    (await page.context().cookies(origin)).filter(({ name }) => name.startsWith('portolan')),
    [],
  )
  assert.equal(await accountIn(await about('ada')), 'ada-at-notes')
})

test('logins outlive the gateway, can be listed and deleted, and are deleted some time after their manifest', async t => {
  const clock = createLeapClock()
  const world = await start(t, { providers: REAL, clock, watch: true })
  const { space, issuer, about, open, linkOf, accountIn, kept, restart, status } = world
  for (const who of ['ada', 'ben']) await open(linkOf(who), who)
  await restart()
  for (const who of ['ada', 'ben']) assert.equal(await accountIn(await about(who)), `${who}-at-notes`)
  const portolan = (...args: string[]) => runPortolan(['logins', ...args], { PORTOLAN_CACHE: space.cache })
  const shown = await portolan()
  assert.match(shown.stdout, /\nnotes +http:\S+#ada +http:\S+ .*\nnotes +http:\S+#ben +http:\S+ /)
  const deleted = await portolan('notes', `${issuer.issuer}#ada`, '--delete')
  assert.deepEqual([deleted.code, deleted.stdout], [0, 'deleted: 1\n'], deleted.stderr)
  // The running gateway keeps no copy of the deleted login.
  assert.ok((await about('ada')).text.endsWith(linkOf('ada')))
  assert.equal(await accountIn(await about('ben')), 'ben-at-notes')
  await open(linkOf('ada'), 'ada')
  space.delete('notes')
  await until(() => status().servers.length === 0)
  clock.advance(REMOVED_AFTER_MS)
  await until(() => kept().length === 0)
})

test('a gateway logs in at the issuer as the client of its manifest, with the secret of its Secret', async t => {
  const client = { id: '', secret: '' }
  const register = async (issuer: Provider, origin: string) => {
    const response = await fetch(`${issuer.issuer}/reg`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: [`${origin}/connect`], scope: 'openid read' }),
    })
    const made = (await response.json()) as { client_id: string; client_secret: string }
    Object.assign(client, { id: made.client_id, secret: made.client_secret })
    return { clientId: client.id, clientSecretRef: { name: 'client', key: 'secret' }, scopes: ['read'] }
  }
  const { origin, issuer, write, open, linkOf, restart, about, accountIn } = await start(t, {
    ...{ providers: REAL, client: register },
  })
  const begun = await press(origin)
  assert.equal(new URL(begun.headers.get('location') ?? '').searchParams.get('client_id'), client.id)
  assert.match(await open(linkOf('ada'), 'ada'), /^502 .*refuses the login/s)
  write('client', secretOf('client', { secret: client.secret }))
  await restart()
  issuer.grants.length = 0
  assert.match(await open(linkOf('ada'), 'ada'), /^200 .*Logged in/s)
  assert.deepEqual(issuer.grants, ['authorization_code'])
  assert.equal(await accountIn(await about('ada')), 'ada-at-notes')
})

test('once the gateway has an issuer, the login of the person at the machine is used for nobody', async t => {
  const world = await start(t, { providers: QUICK, watch: true })
  const { space, spec, gateway, origin, issuer, login, notes, write } = world
  const { about, open, linkOf, accountIn, status } = world
  const state = () => status().servers[0]?.state
  const { headers: _, ...bare } = spec
  write('gateway', gatewayOf({}))
  space.write('notes', bare)
  await until(() => status().servers[0]?.reason === 'NeedsLogin')
  const personal = await fetch(`${origin}/connect/notes`)
  assert.match(await personal.text(), /used by <b>local#user<\/b>/)
  const begun = await press(origin)
  const cookie = begun.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const back = callbackUrl(pageOf(begun), 'owner')
  assert.equal((await fetch(back, { headers: { cookie } })).status, 200)
  await until(() => state() === 'ready')
  write('gateway', gateway)
  await until(() => status().servers[0]?.reason === 'AuthRequired')
  // Until then, the session of the owner may still have opened its stream.
  const before = notes.requests.length
  const page = await (await fetch(`${origin}/connect/notes`)).text()
  assert.ok(page.includes(`Log in at ${issuer.issuer}`) && !page.includes('local#user'), page)
  space.write('notes', spec)
  await until(() => state() === 'ready')
  assert.ok((await about('ada')).text.endsWith(linkOf('ada')))
  await open(linkOf('ada'), 'ada')
  assert.equal(await accountIn(await about('ada')), 'ada-at-notes')
  // DELETE ends the session of that person's login, with the token of that login.
  const sent = notes.requests.slice(before).filter(({ method }) => method !== 'DELETE')
  const others = sent.flatMap(({ authorization = FOR_LISTS }) =>
    authorization === FOR_LISTS ? [] : authorization,
  )
  for (const authorization of others)
    assert.equal(await login.verify(authorization.replace('Bearer ', ''), notes.url), 'ada-at-notes')
})
