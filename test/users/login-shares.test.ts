/** How many logins one address may begin at the pages of a router. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serve } from '../upstreams/http/serve.ts'
import { startLoginRouter } from './login-router.ts'

test('an address with eight logins at an issuer that hangs gets 429, and can begin another when these have ended', async t => {
  const answered = Promise.withResolvers<void>()
  let asked = 0
  const eight = Promise.withResolvers<void>()
  const issuer = await serve(async (_request, response) => {
    if (++asked === 8) eight.resolve()
    await answered.promise
    response.writeHead(503).end()
  })
  t.after(() => issuer.close())
  const { press } = await startLoginRouter(t, { issuer: issuer.origin, url: `${issuer.origin}/mcp` })
  const running = Array.from({ length: 8 }, () => press('notes'))
  await eight.promise
  const refused = await press('notes')
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '1'])
  assert.match(await refused.text(), /The limit of 8 logins of an address at once is reached; again in 1 s\./)
  assert.deepEqual(refused.headers.getSetCookie(), [])
  answered.resolve()
  await Promise.all(running)
  assert.notEqual((await press('notes')).status, 429)
})
