/** Logins that browsers have begun, and come back with: to any replica, once, and soon. */
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
const OVER = { code: 'bad_request' }

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

test('a login that began at one replica continues at another, which knew nothing of it', async () => {
  const { replica, begin } = start()
  const { state, cookie } = await begin()
  assert.equal(serverOfState(state), 'linear')
  assert.equal(replica().take(state, cookie, undefined).login.verifier, 'verifier')
  assert.ok(!cookie.includes('verifier'))
})

test('a state is good once, for the browser that began, and not for long', async () => {
  const { clock, replica, begin } = start()
  const here = replica()
  const take = (state: string, cookie: string, server?: string) => here.take(state, cookie, server)
  const first = await begin(here)
  assert.throws(() => take(first.state, ''), OVER)
  const [one, other] = [await begin(here), await begin(here)]
  assert.throws(() => take(one.state, other.cookie), OVER)
  assert.ok(take(other.state, other.cookie))
  assert.throws(() => take(other.state, other.cookie), OVER)
  // Whoever has no cookie uses nothing up, however often they try.
  for (let tries = 0; tries < 2_000; tries++) assert.throws(() => take(`linear.${tries}`, ''), OVER)
  assert.throws(() => take(other.state, other.cookie), OVER)
  assert.ok(take(first.state, first.cookie))
  const late = await begin(here)
  clock.advance(PENDING_MS + 1)
  assert.throws(() => take(late.state, late.cookie), OVER)
})

test('an answer counts only at the address that it was asked for: of an issuer, or of the server', async () => {
  const { replica, begin } = start()
  const here = replica()
  const user = userNamed('https://login.example.com#ada')
  const [unknown, known] = [await begin(here), await begin(here, 'linear', user)]
  assert.throws(() => here.take(unknown.state, unknown.cookie, 'linear'), OVER)
  assert.throws(() => here.take(known.state, known.cookie, undefined), OVER)
  const again = await begin(here, 'linear', user)
  assert.throws(() => here.take(again.state, again.cookie, 'other'), OVER)
  const last = await begin(here, 'linear', user)
  assert.equal(here.take(last.state, last.cookie, 'linear').server, 'linear')
})

test('what no cookie can hold is refused before the browser is sent away', async () => {
  const { begin } = start({ authorization_endpoint: `https://login.example.com/${'a'.repeat(4_000)}` })
  await assert.rejects(begin(), { code: 'upstream_protocol' })
})
