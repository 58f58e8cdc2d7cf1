/** The upstreams of a server's users: created at the first call, never shared, and closed when idle. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import type { RouterConfig, RouterServer } from '../../core/catalog/router-config.ts'
import { Fault } from '../../core/errors.ts'
import { type Caller, createCaller } from '../../core/mcp/caller.ts'
import { ANONYMOUS, type Identity } from '../../core/mcp/identity.ts'
import type { User } from '../../core/mcp/user.ts'
import { echo, serverOf, snapshotOf, upstreamOf } from '../../test/meta/fixture.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { until } from '../../test/support/until.ts'
import { tooManyUsers } from '../waking/waker.ts'
import { ListRoom } from './list-room.ts'
import { createPool } from './pool.ts'

const MINUTE = 60_000
const LOCAL = { kind: 'local', id: 'notes', revision: '1' } as const

const token = (name: string): Caller =>
  createCaller({ identity: { ...ANONYMOUS, id: `token:${name}`, kind: 'token', subject: name } })
const person = (issuer: string, subject: string): Identity => ({
  ...ANONYMOUS,
  id: `user:${issuer}:${subject}`,
  kind: 'user',
  issuer,
  subject,
})
const signal = new AbortController().signal

/** `answer`: what the upstreams of users answer to calls and subscriptions instead; may throw. */
function start(
  changes: Partial<RouterServer> = {},
  answer: (asked: 'call' | 'subscribe', subject: string) => void = () => {},
) {
  const clock = createManualClock()
  const opened: string[] = []
  const closed: string[] = []
  const connect = (_: RouterServer, user?: User) => {
    const subject = user?.subject ?? 'nobody'
    opened.push(subject)
    const upstream = upstreamOf(call =>
      call.method === 'tools/list'
        ? { result: { tools: [{ name: `of ${subject}`, inputSchema: { type: 'object' } }] } }
        : echo(call, signal),
    )
    let isClosed = false
    return {
      ...upstream,
      async request(...given: Parameters<typeof upstream.request>) {
        answer('call', subject)
        return upstream.request(...given)
      },
      async subscribe() {
        answer('subscribe', subject)
        return { result: {} }
      },
      async close() {
        if (!isClosed) closed.push(subject)
        isClosed = true
      },
    }
  }
  const room = new ListRoom({ clock, onFull() {} })
  const lists = { room, shared: () => undefined, onChanged() {}, onFailed() {} }
  const pool = createPool({ connect, clock, lists })
  const server = serverOf('notes', {
    sessions: 'perUser',
    users: { max: 2, idleAfterMs: 30 * MINUTE },
    endpoint: LOCAL,
    ...changes,
  })
  const update = (more: Partial<RouterServer> = {}, access: Partial<RouterConfig> = {}) => {
    const { config } = snapshotOf({}, access, 1)
    pool.update({ ...config, servers: [{ ...server, ...more }] })
  }
  update()
  const call = (caller: Caller) => pool.call('notes', { method: 'tools/call', caller }, signal)
  const subjects = () => pool.users()[0]?.users.map(({ subject }) => subject)
  return { pool, clock, opened, closed, update, call, subjects }
}

async function refused(promise: Promise<unknown>): Promise<unknown> {
  const fault = await promise.then(
    () => assert.fail('not refused'),
    error => error,
  )
  assert.ok(fault instanceof Fault)
  assert.equal(fault.code, 'user_refused')
  return fault.details.reason
}

test('each user has one upstream, for all credentials and clients of the user', async () => {
  const { call, opened } = start()
  await Promise.all([call(token('ada')), call(token('ben')), call(token('ada'))])
  await call({ ...token('ada'), client: 'another client' })
  assert.deepEqual(opened, ['token#ada', 'token#ben'])
})

test('users of different issuers are different users, though names and subjects are equal', async () => {
  const { call, update, subjects } = start()
  const issuer = (url: string) => ({
    access: {
      ...OPEN_ACCESS,
      auth: { anonymous: false, revoked: [], jwt: [{ name: 'idp', issuer: url } as never] },
    },
  })
  for (const url of ['https://one.example', 'https://two.example']) {
    update({}, issuer(url))
    await call(createCaller({ identity: person('idp', 'ada') }))
  }
  assert.deepEqual(subjects(), ['https://one.example#ada', 'https://two.example#ada'])
})

test("a user beyond the maximum is refused until another user's upstream is closed", async () => {
  const { call, clock, closed, update } = start()
  await call(token('ada'))
  await call(token('ben'))
  assert.equal(await refused(call(token('cyd'))), 'TooManyUsers')
  update({ users: { max: 3, idleAfterMs: 30 * MINUTE } })
  await call(token('cyd'))
  update()
  await clock.advance(30 * MINUTE)
  assert.deepEqual(closed.sort(), ['token#ada', 'token#ben', 'token#cyd'])
  await call(token('dot'))
})

test("a user's upstream is closed after its last use, not after its first, and not during a subscription", async () => {
  const { call, clock, pool, subjects } = start()
  await call(token('ada'))
  await clock.advance(20 * MINUTE)
  await call(token('ada'))
  await clock.advance(20 * MINUTE)
  assert.deepEqual(subjects(), ['token#ada'])
  const end = new AbortController()
  const subscription = { uri: 'note://all', caller: token('ben'), onUpdate: () => {} }
  await pool.subscribe('notes', subscription, end.signal)
  await clock.advance(120 * MINUTE)
  assert.deepEqual(subjects(), ['token#ben'])
  end.abort()
  await clock.advance(30 * MINUTE)
  assert.deepEqual(subjects(), [])
})

test('callers without a credential are one user if they are on the same laptop as the gateway, and refused otherwise', async () => {
  const { call, subjects } = start()
  for (const address of ['127.0.0.1', '::1']) await call(createCaller({ address }))
  assert.deepEqual(subjects(), ['local#user'])
  assert.equal(await refused(call(createCaller({ address: '10.0.0.7' }))), 'CallerUnknown')
  const remote = start({
    endpoint: { kind: 'http', url: 'http://a', transport: 'streamable-http', revision: '1' },
  })
  assert.equal(await refused(remote.call(createCaller({ address: '127.0.0.1' }))), 'CallerUnknown')
  assert.deepEqual(remote.opened, [])
})

test('in a sidecar, all callers share one upstream through its gateway', async () => {
  const { call, opened } = start({ endpoint: { kind: 'gateway', revision: '1' } })
  await call(createCaller())
  await call(token('ada'))
  assert.deepEqual(opened, ['nobody'])
})

test('a changed connection closes the upstreams of all users, and subscriptions continue with the new ones', async () => {
  const { call, closed, update, pool, opened } = start()
  await call(token('ada'))
  let updates = 0
  const subscription = { uri: 'note://all', caller: token('ben'), onUpdate: () => void updates++ }
  await pool.subscribe('notes', subscription, signal)
  update({ endpoint: { ...LOCAL, revision: '2' } })
  await until(() => updates > 0 && closed.length >= 2)
  assert.deepEqual(opened, ['token#ada', 'token#ben', 'token#ben'])
  assert.equal(pool.endUser('notes', pool.users()[0]?.users[0]?.user ?? ''), true)
  await until(() => updates >= 2)
  await pool.close()
  assert.equal(closed.length, opened.length)
})

test("if there is no pod for a user, the user's subscriptions continue with the user's next upstream", async () => {
  let isFull = false
  const { call, opened, pool } = start({}, asked => {
    if (isFull && asked === 'call') throw tooManyUsers(2)
  })
  let updates = 0
  const subscription = { uri: 'note://all', caller: token('ada'), onUpdate: () => void updates++ }
  await pool.subscribe('notes', subscription, signal)
  isFull = true
  assert.equal(await refused(call(token('ada'))), 'TooManyUsers')
  await nextTurn()
  assert.deepEqual([opened, updates], [['token#ada', 'token#ada'], 1])
})

test("a subscription that is tried again continues after its user's upstream was closed because it was idle", async () => {
  let fails = false
  const users = { max: 2, idleAfterMs: 10_000 }
  const { clock, opened, closed, pool, update } = start({ users }, () => {
    if (fails) throw new Fault('upstream_unreachable', 'down')
  })
  let updates = 0
  const subscription = { uri: 'note://all', caller: token('ada'), onUpdate: () => void updates++ }
  await pool.subscribe('notes', subscription, signal)
  fails = true
  update({ endpoint: { ...LOCAL, revision: '2' } })
  while (closed.length < 2) {
    await nextTurn()
    clock.advance(1_000)
  }
  fails = false
  await nextTurn()
  for (let second = 0; second < 60 && updates === 0; second++) {
    clock.advance(1_000)
    await nextTurn()
  }
  assert.equal(updates, 1)
  assert.equal(opened.length, closed.length + 1)
})

for (const { what, changes, isOpened } of [
  { what: 'a server over HTTP', changes: { transport: 'http' }, isOpened: true },
  { what: 'a stdio server', changes: { transport: 'stdio' }, isOpened: false },
  {
    what: 'a server that sleeps',
    changes: { transport: 'http', sleep: { asleep: true } },
    isOpened: false,
  },
] as const)
  test(`the lists of a user of ${what} are ${isOpened ? 'read before' : 'not read before'} the first call`, async () => {
    const users = { max: 2, idleAfterMs: 30 * MINUTE, ownLists: true } as const
    const { pool, opened, call, update } = start({ users, ...changes })
    const ada = token('ada')
    await pool.readLists('notes', ada)
    assert.deepEqual(opened, isOpened ? ['token#ada'] : [])
    assert.equal(pool.listsOf('notes', ada.identity) !== undefined, isOpened)
    // No operator wakes the server in this test.
    if ('sleep' in changes) update({ sleep: { asleep: false } })
    await call(ada)
    await pool.readLists('notes', ada)
    assert.deepEqual(opened, ['token#ada'])
    assert.equal(pool.listsOf('notes', ada.identity)?.tools[0]?.definition.name, 'of token#ada')
    assert.equal(pool.readLists('notes', token('ben')), undefined)
    assert.equal(pool.readLists('notes', createCaller()), undefined)
    assert.deepEqual(opened, ['token#ada'])
    const [user] = pool.users()[0]?.users ?? []
    pool.endUser('notes', user?.user ?? '')
    assert.equal(pool.listsOf('notes', ada.identity), undefined)
  })

test('a fifth of the maximum number of users is reserved for calls, and not used just to read lists', async () => {
  const users = { max: 5, idleAfterMs: 30 * MINUTE, ownLists: true } as const
  const { pool, call, subjects } = start({ users, transport: 'http' })
  const names = ['ada', 'ben', 'cyd', 'dot', 'eve'].map(token)
  for (const caller of names) await pool.readLists('notes', caller)
  assert.equal(subjects()?.length, 4)
  const eve = token('eve')
  await call(eve)
  await pool.readLists('notes', eve)
  assert.equal(pool.listsOf('notes', eve.identity)?.tools[0]?.definition.name, 'of token#eve')
})

test("the time of a user's last use is right after the machine was suspended", async () => {
  const { call, clock, pool } = start()
  await call(token('ada'))
  const used = clock.now()
  clock.suspend(24 * 60 * MINUTE)
  clock.advance(MINUTE)
  assert.equal(pool.users()[0]?.users[0]?.usedMs, used)
})
