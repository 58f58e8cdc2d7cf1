/** Secrets of users in a cluster's router: each is in the requests of its user, and nowhere else. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import type { RouterServer, UserSecret } from '../../core/catalog/router-config.ts'
import { createLog } from '../../core/log.ts'
import { catalogIndexOf } from '../../router/source/catalog-index.ts'
import { TOKENS } from '../front/access-router.ts'
import { serverOf, snapshotOf } from '../meta/fixture.ts'
import { startRealRouter } from '../meta/real-router.ts'
import { startNotes } from '../upstreams/users/http.ts'
import { callAs, tokenOf } from './as-user.ts'

const NAMES = Array.from({ length: 50 }, (_, at) => `person${at}x`)

function serverFor(url: string, secrets: UserSecret[]): Partial<RouterServer> {
  const selector = { matchLabels: { 'portolan.dev/for': 'notes' } }
  return {
    endpoint: {
      kind: 'http',
      url,
      transport: 'streamable-http',
      revision: '1',
      headers: [
        { name: 'authorization', value: 'Bearer for-lists' },
        { name: 'X-Plain', value: 'for all' },
      ],
      userHeaders: [{ name: 'Authorization', key: 'token', prefix: 'Bearer ' }],
    },
    sessions: 'perUser',
    users: { max: 100, idleAfterMs: 60_000, credentials: { kind: 'secrets', selector, secrets } },
  }
}

async function start(t: TestContext, names: readonly string[], values: (name: string) => string) {
  const notes = await startNotes('2025')
  t.after(() => notes.close())
  const callers = Object.fromEntries([...names, 'guest'].map(name => [name, tokenOf(name)]))
  const secrets: Record<string, Record<string, string>> = { callers }
  for (const name of names) secrets[`notes-${name}`] = { token: values(name) }
  const known = names.map(name => ({ subject: `token#${name}`, revision: '1', name: `notes-${name}` }))
  const lines: string[] = []
  const log = createLog({ level: 'trace', destination: { write: line => void lines.push(line) } })
  const secret = (name: string) => secrets[name]
  const { router } = await startRealRouter(
    t,
    { notes: serverFor(notes.url, known) },
    { access: { ...OPEN_ACCESS, auth: TOKENS } },
    log,
    { credentials: { secret } },
    secret,
  )
  notes.requests.length = 0
  return { notes, router, secrets, origin: new URL(router.url).origin, log: () => lines.join('') }
}

test('the Secrets of fifty users are in the requests of their users, and in no answer, log or metric', async t => {
  const canary = (name: string) => `secret-of-${name}`
  const { origin, notes, router, log } = await start(t, NAMES, name => `${canary(name)}\n`)
  const answers = await Promise.all(
    NAMES.map(async name => ({ name, ...(await callAs(origin, tokenOf(name), 'notes:about')) })),
  )
  for (const { name, text, raw } of answers) {
    const { headers } = JSON.parse(text) as { headers: Record<string, string> }
    assert.equal(headers.authorization, `Bearer ${canary(name)}`)
    assert.equal(headers['x-plain'], 'for all')
    for (const other of NAMES) if (other !== name) assert.ok(!raw.includes(canary(other)))
  }
  const sessions = Map.groupBy(notes.requests, ({ session }) => session)
  sessions.delete(undefined)
  for (const requests of sessions.values())
    assert.equal(new Set(requests.map(({ authorization }) => authorization)).size, 1)
  const guest = await callAs(origin, tokenOf('guest'), 'notes:about')
  assert.match(guest.text, /create a Secret .*portolan\.dev\/subject: "token#guest"/)
  const metrics = await router.metrics.registry.metrics()
  for (const shown of [guest.raw, log(), metrics, JSON.stringify(router.users())])
    assert.ok(!shown.includes('secret-of-'))
})

test('a Secret that cannot be sent in a header is reported as unusable, without its value', async t => {
  const { origin, notes, log } = await start(t, ['ada'], () => 'secret-of\nada')
  const { text, raw } = await callAs(origin, tokenOf('ada'), 'notes:about')
  assert.match(text, /the Secret of token#ada has no usable key token/)
  assert.deepEqual(notes.requests, [])
  for (const shown of [raw, log()]) assert.ok(!shown.includes('secret-of'))
})

test('sidecars do not learn who the users of a server are', () => {
  const server = serverFor('https://notes.example.com/mcp', [
    { subject: 'token#ada', revision: '1', name: 'notes-ada' },
  ])
  const snapshot = snapshotOf({}, { servers: [serverOf('notes', server)] }, 1)
  assert.doesNotMatch(JSON.stringify(catalogIndexOf(snapshot)), /ada/)
})
