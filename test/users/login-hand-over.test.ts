/** No login is lost with the router that has renewed it: the operator or another router takes it before the router ends. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { type LoginRecord, loginsName } from '../../core/catalog/login-records.ts'
import { type User, userNamed } from '../../core/mcp/user.ts'
import type { ClusterLogins } from '../../router/logins/cluster-logins.ts'
import { freePort } from '../support/free-port.ts'
import { keptLogin } from '../upstreams/users/kept-login.ts'
import { startQuickLoginServer } from '../upstreams/users/quick-login-server.ts'
import { startLoginRouter } from './login-router.ts'

const ADA = userNamed('https://login.example.com#ada') as User

/** Routers of one gateway, which know each other and the Secrets `written`. */
async function start(t: TestContext, count: number) {
  const login = await startQuickLoginServer()
  t.after(() => login.close())
  const written = new Map<string, Record<string, string>>()
  const shared = { key: randomBytes(32), secret: (name: string) => written.get(name) }
  const sessionKey = randomBytes(32)
  const ports = await Promise.all(Array.from({ length: count }, () => freePort()))
  const origins = ports.map(port => `http://127.0.0.1:${port}`)
  const routers = []
  for (const [at, port] of ports.entries()) {
    const admin = {
      ...{ host: '127.0.0.1', port, pod: `router-${at}`, gateway: 'tools', missing: () => [] },
      ...{ peers: async () => origins, own: origins[at] },
    }
    const given = { issuer: login.issuer, url: login.url, ...shared, router: { admin, sessionKey } }
    routers.push({ ...(await startLoginRouter(t, given)), admin: origins[at] ?? '' })
  }
  /** As the operator does; resolves once the router at this admin port has reported a login. */
  const writeFrom = async (origin: string): Promise<void> => {
    for (;;) {
      const { logins = [] } = (await (await fetch(`${origin}/status`)).json()) as { logins?: LoginRecord[] }
      for (const { server, id, value } of logins) {
        const name = loginsName(server, id)
        written.set(name, { ...written.get(name), [id]: value })
      }
      if (logins.length > 0) return
    }
  }
  const tokenAt = async ({ store }: ClusterLogins) =>
    (await store.read('notes', login.url, ADA))?.tokens.access_token
  return { login, written, routers, writeFrom, tokenAt }
}

test('a router that ends while it renews a login waits until the operator has written it', async t => {
  const { login, written, routers, writeFrom, tokenAt } = await start(t, 1)
  const [{ router, logins, admin }] = routers as [(typeof routers)[number]]
  await logins.store.write(keptLogin(login, ADA, 'first'), ADA)
  await writeFrom(admin)
  const asked = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  login.before.token = () => {
    asked.resolve()
    return answered.promise
  }
  const target = logins.host.serverOf('notes')
  assert.ok(target)
  const renewed = logins.logins.newest(target, ADA, 'first')
  await asked.promise
  let isClosed = false
  const closed = router.close(0).then(() => {
    isClosed = true
  })
  answered.resolve()
  const token = (await renewed)?.tokens.access_token
  assert.ok(token && token !== 'first')
  assert.equal(isClosed, false)
  await writeFrom(admin)
  await closed
  assert.equal(await tokenAt(logins), token)
  assert.deepEqual([written.size, logins.store.waiting(() => true)], [1, []])
})

test('a router that ends hands its logins over to another router, which reports them to the operator', async t => {
  const { login, routers, writeFrom, tokenAt } = await start(t, 2)
  const [one, other] = routers as [(typeof routers)[number], (typeof routers)[number]]
  await one.logins.store.write(keptLogin(login, ADA, 'renewed'), ADA)
  await one.router.close(0)
  assert.equal(await tokenAt(other.logins), 'renewed')
  const closed = other.router.close(0)
  await writeFrom(other.admin)
  await closed
})

test('a router that ends hands the deletion of a login over, so that the login does not work at another router', async t => {
  const { login, routers, writeFrom, tokenAt } = await start(t, 2)
  const [one, other] = routers as [(typeof routers)[number], (typeof routers)[number]]
  await one.logins.store.write(keptLogin(login, ADA, 'revoked'), ADA)
  await writeFrom(one.admin)
  assert.equal(await tokenAt(other.logins), 'revoked')
  const { id } = one.logins.store.list('notes')[0] ?? assert.fail()
  const deleted = await fetch(`${one.admin}/debug/logins/notes/${id}`, { method: 'DELETE' })
  assert.equal(deleted.status, 204)
  await one.router.close(0)
  assert.equal(await tokenAt(other.logins), undefined)
  await writeFrom(other.admin)
  assert.deepEqual([await tokenAt(other.logins), other.logins.store.waiting(() => true)], [undefined, []])
  await other.router.close(0)
})

test('a router does not count a login as handed over that the other router cannot open', async t => {
  const { login, routers, writeFrom } = await start(t, 2)
  const [one, other] = routers as [(typeof routers)[number], (typeof routers)[number]]
  await one.logins.store.write(keptLogin(login, ADA, 'renewed'), ADA)
  const [record] = one.logins.store.waiting(() => true) as [LoginRecord]
  const later = { ...record, value: record.value.replace(/^\d+/, '999999999999999') }
  assert.deepEqual(
    [await one.logins.renewals.tell([later]), other.logins.store.waiting(() => true)],
    [[], []],
  )
  assert.deepEqual(await one.logins.renewals.tell([record]), [record])
  await writeFrom(one.admin)
})

test('a router that ends does not hand its logins over to one that is ending, too', async t => {
  const { login, written, routers, writeFrom } = await start(t, 2)
  const [one, other] = routers as [(typeof routers)[number], (typeof routers)[number]]
  other.logins.renewals.retire()
  await one.logins.store.write(keptLogin(login, ADA, 'renewed'), ADA)
  const closed = one.router.close(0)
  await writeFrom(one.admin)
  await closed
  assert.deepEqual([written.size, other.logins.store.waiting(() => true)], [1, []])
  await other.router.close(0)
})
