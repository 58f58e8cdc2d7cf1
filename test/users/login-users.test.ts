/** The pages at which the users of a laptop's gateway log in: what others can do there. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { callbackUrl } from '../upstreams/users/quick-login-server.ts'
import { pageOf, press, QUICK, start } from './issuer-gateway.ts'

test('a link for one user is refused for another; an answer counts once, in the browser and gateway that began', async t => {
  const { origin, login, about, open, linkOf, kept, restart } = await start(t, { providers: QUICK })
  await about('ada')
  assert.match(await open(linkOf('ada'), 'ben', 'eve'), /^403 .*This link is for somebody else, and you are/s)
  assert.deepEqual(login.grants, [])
  // Without the name of a user, whoever opens it logs in for themselves.
  assert.match(await open(linkOf('ada').replace(/\?.*/, ''), 'ben'), /^200 .*for http:\S+#ben/s)
  assert.match((await about('ada')).text, /has not logged in/)
  assert.equal(kept().length, 1)

  const begun = await press(origin)
  const [set = ''] = begun.headers.getSetCookie()
  assert.match(
    set,
    /^portolan-connect-notes=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
    'http has no __Host-',
  )
  const cookie = set.split(';')[0] ?? ''
  const back = callbackUrl(pageOf(begun), 'ada')
  const answer = async (cookie: string) => {
    const response = await fetch(back, { headers: { cookie } })
    return `${response.status} ${await response.text()}`
  }
  assert.match(await answer(''), /^400 .*not begun here, or is over/s)
  assert.match(await answer(cookie), /^200 .*You are <b>http:\S+#ada/s)
  assert.match(await answer(cookie), /^400 .*not begun here, or is over/s)

  // A cookie of an earlier gateway at the same address is refused, too.
  const former = await press(origin)
  const code = callbackUrl(pageOf(former), 'ada')
  await restart()
  const late = await fetch(code, {
    headers: { cookie: former.headers.getSetCookie()[0]?.split(';')[0] ?? '' },
  })
  assert.equal(late.status, 400)
})

test('no page of another host begins a login, whatever name leads to this port', async t => {
  const { origin, linkOf } = await start(t, { providers: QUICK })
  const foreign = await press(origin, 'http://evil.example.com')
  const without = await fetch(`${origin}/connect/notes?issuer=own`, { method: 'POST', redirect: 'manual' })
  assert.deepEqual([foreign.status, without.status], [403, 403])
  assert.deepEqual([...foreign.headers.getSetCookie(), ...without.headers.getSetCookie()], [])
  const rebound = await requestAs(linkOf('ada'), 'evil.example.com:8080')
  assert.deepEqual([rebound.status, rebound.location], [302, linkOf('ada')])
  const reboundPress = await press(origin, 'http://evil.example.com', 'evil.example.com')
  assert.equal(reboundPress.status, 403)
  assert.equal(
    (await fetch(`${origin}/connect/other`)).status,
    200,
    'the answer does not show which servers exist',
  )
})

/** The request of a page whose host name was rebound to this address. */
function requestAs(link: string, host: string): Promise<{ status?: number; location?: string }> {
  return new Promise((resolve, reject) => {
    request(link, { headers: { host } }, response => {
      response.resume()
      resolve({ status: response.statusCode, location: response.headers.location })
    })
      .on('error', reject)
      .end()
  })
}
