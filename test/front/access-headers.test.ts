/** Doubled headers, odd request targets and claimed names: over HTTP, against a running router. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { talk } from '../manners/raw.ts'
import { withIssuer } from './access-issuer.ts'
import { BLUE, initialize, RED, rule, send, start } from './access-router.ts'

const RULES = { rules: [rule('red', 'vermilion'), rule('blue', 'cobalt')] }

/** Sends a request with these header lines, and adds Content-Length if they set no length. */
function raw(origin: string, head: readonly string[], body = ''): Promise<string> {
  const hasLength = head.some(line => /^(?:content-length|transfer-encoding):/i.test(line))
  const length = hasLength ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]
  return talk(origin, `${[...head, ...length, 'Connection: close'].join('\r\n')}\r\n\r\n${body}`)
}

const TYPES = ['Content-Type: application/json', 'Accept: application/json, text/event-stream']
const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })

test('a request with a doubled or malformed header is refused', async t => {
  const { origin } = await start(t, RULES)
  const { host } = new URL(origin)
  const begun = async (token: string) =>
    (await send(origin, initialize, { token })).headers.get('mcp-session-id') ?? ''
  const [red, blue] = [await begun(RED), await begun(BLUE)]
  const post = (...more: string[]) =>
    raw(origin, ['POST /mcp/direct HTTP/1.1', `Host: ${host}`, ...TYPES, ...more], LIST)
  assert.match(await post(`Authorization: Bearer ${RED}`), /^HTTP\/1\.1 200 [\s\S]*vermilion_get/)
  const doubled = [
    [`Authorization: Bearer ${RED}`, `Authorization: Bearer ${BLUE}`],
    [`Authorization: Bearer ${RED}`, `authorization: Bearer ${RED}`],
    [`Authorization: Bearer ${RED}, Bearer ${BLUE}`],
    [`Authorization: Bearer ${RED}`, `Mcp-Session-Id: ${red}`, `Mcp-Session-Id: ${blue}`],
    [`Authorization: Bearer ${RED}`, `Mcp-Session-Id: ${blue}`, `Mcp-Session-Id: ${red}`],
    [`Authorization: Bearer ${RED}`, `Content-Length: ${LIST.length}`, 'Content-Length: 1'],
    [`Authorization: Bearer ${RED}`, `Content-Length: ${LIST.length}`, 'Transfer-Encoding: chunked'],
    [`Authorization: Bearer ${RED}`, 'Transfer-Encoding: chunked, identity'],
    [`Authorization : Bearer ${RED}`],
    [`X: y\n Authorization: Bearer ${RED}`],
  ]
  for (const headers of doubled) {
    const answer = await post(...headers)
    assert.match(answer, /^HTTP\/1\.1 4\d\d /, headers.join(' | '))
    assert.doesNotMatch(answer, /vermilion|cobalt/, headers.join(' | '))
  }
})

test('no part of a request target is repeated in a challenge', async t => {
  const { origin } = await withIssuer(t)
  const { host } = new URL(origin)
  for (const target of [
    '/mcp/x",error="y',
    '/servers/x",realm="y/mcp',
    `http://${host}/mcp`,
    'http://localhost/servers/evil.example/mcp',
    '/mcp/?a="b',
    '/mcp//',
  ]) {
    const answer = await raw(origin, [`POST ${target} HTTP/1.1`, `Host: ${host}`, ...TYPES], LIST)
    const [challenge = ''] = /^www-authenticate: .*$/im.exec(answer) ?? []
    if (challenge !== '')
      assert.match(
        challenge,
        /^www-authenticate: Bearer resource_metadata="https:\/\/mcp\.example\.com\/\.well-known\/oauth-protected-resource(?:\/mcp)?"\r?$/i,
        target,
      )
    else assert.match(answer, /^HTTP\/1\.1 40[04] /, target)
  }
})

test('only usernameClaim names a user, and an email address that is marked as unverified names nobody', async t => {
  const subjects = [{ kind: 'User', name: 'ada@example.com', issuer: 'own' } as const]
  const rules = [rule('ada', 'vermilion', { subjects })]
  const { sign, ask } = await withIssuer(t, { usernameClaim: 'email' }, { rules })
  const sees = async (claims: object) => /vermilion_get/.test((await ask(await sign({ ...claims }))).text)
  assert.equal(await sees({ email: 'ada@example.com' }), true)
  assert.equal(await sees({ email: 'ada@example.com', email_verified: true }), true)
  for (const email_verified of [false, 'true', 0, null])
    assert.equal(await sees({ email: 'ada@example.com', email_verified }), false, `${email_verified}`)
  assert.equal(await sees({ sub: 'ada@example.com' }), false)
  for (const email of [['ada@example.com'], '', null, { ada: true }])
    assert.equal(await sees({ sub: 'ada@example.com', email }), false, JSON.stringify(email))
})
