/** Logins that browsers begin: they can be continued at any replica, once, within a short time. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { type User, userNamed } from '../../core/mcp/user.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { BrowserLogins, PENDING_MS, serverOfState } from './browser-logins.ts'
import { createSeal } from './seal.ts'

const LOGIN = {
  redirectUrl: 'https://mcp.example.com/connect',
  server: { issuer: 'https://login.example.com', metadata: {} as never },
  client: { client_id: 'portolan' },
  verifier: 'verifier',
}
const REFUSED = { code: 'bad_request' }

function start(metadata: object = {}) {
  const clock = createManualClock()
  const key = randomBytes(32)
  const replica = () => new BrowserLogins(createSeal(key), clock)
  const begin = async (at = replica(), server = 'linear', user?: User) => {
    const about = { server, of: 'https://mcp.example.com', ...(user && { user }) }
    const { to, cookie } = await at.begin(about, async state => ({
      ...LOGIN,
      server: { ...LOGIN.server, metadata: metadata as never },
      url: new URL(`https://login.example.com/?state=${state}`),
    }))
    return { state: to.searchParams.get('state') ?? '', cookie }
  }
  return { clock, replica, begin }
}

test('a login that began at one replica continues at another one with the same key', async () => {
  const { replica, begin } = start()
  const { state, cookie } = await begin()
  assert.equal(serverOfState(state), 'linear')
  assert.equal(replica().take(state, cookie, undefined).login.verifier, 'verifier')
  assert.ok(!cookie.includes('verifier'))
})

test('a state is accepted once, only from the browser that began the login, and only for ten minutes', async () => {
  const { clock, replica, begin } = start()
  const here = replica()
  const take = (state: string, cookie: string, server?: string) => here.take(state, cookie, server)
  const first = await begin(here)
  assert.throws(() => take(first.state, ''), REFUSED)
  const [one, other] = [await begin(here), await begin(here)]
  assert.throws(() => take(one.state, other.cookie), REFUSED)
  assert.ok(take(other.state, other.cookie))
  assert.throws(() => take(other.state, other.cookie), REFUSED)
  // Attempts without a cookie are not remembered, so they cannot displace the states that were used.
  for (let tries = 0; tries < 2_000; tries++) assert.throws(() => take(`linear.${tries}`, ''), REFUSED)
  assert.throws(() => take(other.state, other.cookie), REFUSED)
  assert.ok(take(first.state, first.cookie))
  const late = await begin(here)
  clock.advance(PENDING_MS + 1)
  assert.throws(() => take(late.state, late.cookie), REFUSED)
})

test('an answer is accepted only at the redirect URL of its login: that of issuers, or that of the server', async () => {
  const { replica, begin } = start()
  const here = replica()
  const user = userNamed('https://login.example.com#ada')
  const [unknown, known] = [await begin(here), await begin(here, 'linear', user)]
  assert.throws(() => here.take(unknown.state, unknown.cookie, 'linear'), REFUSED)
  assert.throws(() => here.take(known.state, known.cookie, undefined), REFUSED)
  const again = await begin(here, 'linear', user)
  assert.throws(() => here.take(again.state, again.cookie, 'other'), REFUSED)
  const last = await begin(here, 'linear', user)
  assert.equal(here.take(last.state, last.cookie, 'linear').server, 'linear')
})

test('a login that is too large for a cookie is refused before the browser is redirected', async () => {
  const { begin } = start({ authorization_endpoint: `https://login.example.com/${'a'.repeat(4_000)}` })
  await assert.rejects(begin(), { code: 'upstream_protocol' })
})
