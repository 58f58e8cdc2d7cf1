/** Users of one stdio server on a laptop: each has their own real process, and gets nothing of another user. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { ANONYMOUS } from '../../core/mcp/identity.ts'
import { startTestGateway } from '../support/local-gateway.ts'
import { createWorkspace, scriptCommand } from '../support/manifests.ts'
import { marked, untilGone } from '../support/processes-left.ts'
import { until } from '../support/until.ts'
import { beginAs, callAs, tokenOf } from './as-user.ts'
import { type About, about, NOTES, start } from './laptop-users.ts'

const USERS = 50

test('fifty users of a stdio server have a process each, and get nothing of another user', async t => {
  const names = Array.from({ length: USERS }, (_, at) => `user${at}x`)
  const canary = (name: string) => `canary-${name}`
  const { origin, mark, gateway, log } = await start(t, names)
  const heard = new Map<string, string[]>(names.map(name => [name, []]))
  await Promise.all(
    names.map(async name => {
      const keep = (raw: string) => heard.get(name)?.push(raw)
      const meta = { progressToken: `p-${name}` }
      const session = await beginAs(origin, tokenOf(name))
      const noted = { text: canary(name) }
      keep((await callAs(origin, tokenOf(name), 'notes:note', noted, { session, meta })).raw)
      keep((await callAs(origin, tokenOf(name), 'notes:about', {}, { session })).raw)
      keep((await callAs(origin, tokenOf(name), 'notes:about')).raw)
    }),
  )
  const pids = new Set<number>()
  for (const name of names) {
    const { pid, notes } = await about(origin, name)
    assert.deepEqual(notes, [canary(name)])
    pids.add(pid)
    const all = heard.get(name)?.join('\n') ?? ''
    assert.ok(all.includes(canary(name)))
    for (const other of names)
      if (other !== name) assert.ok(!all.includes(canary(other)), `${other} in ${name}`)
  }
  assert.equal(pids.size, USERS)
  assert.ok(marked(mark).length >= USERS)
  const metrics = await (await fetch(`${origin}/metrics`)).text()
  for (const name of names) assert.ok(!metrics.includes(canary(name)) && !metrics.includes(name))
  assert.ok(!log().includes('token-of-'))
  await gateway.close()
  assert.deepEqual(await untilGone(mark), [])
})

test('beyond users.max a call is refused with advice, and ending a user makes room for another', async t => {
  const { origin, gateway } = await start(t, ['ada', 'ben', 'cyd'], { users: { max: 2 } })
  await about(origin, 'ada')
  await about(origin, 'ben')
  const { text, isError } = await callAs(origin, tokenOf('cyd'), 'notes:about')
  assert.ok(isError)
  assert.match(text, /2 users have one, the maximum.*users\.max/)
  const before = await about(origin, 'ada')
  const [ada] = gateway.users().find(({ server }) => server === 'notes')?.users ?? []
  assert.equal(ada?.subject, 'token#ada')
  assert.equal(gateway.endUser('notes', ada.user), true)
  assert.equal(gateway.endUser('notes', ada.user), false)
  const { notes } = await about(origin, 'cyd')
  assert.deepEqual(notes, [])
  await until(() => !existsSync(`/proc/${before.pid}`))
})

test('the processes and notes of users are gone after `idleAfter`', async t => {
  const names = Array.from({ length: 12 }, (_, at) => `guest${at}`)
  const { origin, gateway, mark } = await start(t, names, { users: { max: 4, idleAfter: '300ms' } })
  const users = () => gateway.users()[0]?.users.length ?? 0
  for (let at = 0; at < names.length; at += 4) {
    const round = names.slice(at, at + 4)
    await Promise.all(round.map(name => callAs(origin, tokenOf(name), 'notes:note', { text: name })))
    await until(() => users() === 0)
    // The process from which the lists are read may still run.
    await until(() => marked(mark).length <= 1)
  }
  assert.deepEqual((await about(origin, 'guest0')).notes, [])
})

test('a process that crashes affects only its user, who gets a new one', async t => {
  const { origin } = await start(t, ['ada', 'ben'])
  const ben = await about(origin, 'ben')
  const first = await about(origin, 'ada')
  for (let tries = 0; tries < 8; tries++) await callAs(origin, tokenOf('ada'), 'notes:crash')
  const { pid, notes } = await about(origin, 'ben')
  assert.deepEqual([pid, notes], [ben.pid, []])
  let next: About | undefined
  await until(async () => {
    const { text, isError } = await callAs(origin, tokenOf('ada'), 'notes:about')
    if (!isError) next = JSON.parse(text) as About
    return next !== undefined
  })
  assert.notEqual(next?.pid, first.pid)
})

test('without auth all callers of a laptop are the user local#user, or the one that --as names', async t => {
  const space = createWorkspace()
  t.after(() => space.remove())
  space.write('notes', { ...scriptCommand(NOTES), sessions: 'perUser' })
  const gateway = await startTestGateway(space)
  t.after(() => gateway.close())
  const { origin } = new URL(gateway.url)
  await callAs(origin, undefined, 'notes:note', { text: 'mine' })
  const { text } = await callAs(origin, undefined, 'notes:about')
  assert.deepEqual((JSON.parse(text) as About).notes, ['mine'])
  assert.deepEqual(
    gateway.users().map(({ users }) => users.map(({ subject }) => subject)),
    [['local#user']],
  )
  const ada = { ...ANONYMOUS, id: 'user:okta:ada', kind: 'user', issuer: 'okta', subject: 'ada' } as const
  const other = await startTestGateway(space, { as: ada })
  t.after(() => other.close())
  await callAs(new URL(other.url).origin, undefined, 'notes:about')
  assert.equal(other.users()[0]?.users[0]?.subject, 'okta#ada')
})

test('updates of a resource reach only the user whose process sent them', async t => {
  const { origin } = await start(t, ['ada', 'ben'])
  const streams = await Promise.all(['ada', 'ben'].map(name => subscribe(t, origin, name)))
  await callAs(origin, tokenOf('ada'), 'notes:note', { text: 'of-ada' })
  const [ada, ben] = streams
  await until(() => (ada?.heard() ?? '').includes('resources/updated'))
  await callAs(origin, tokenOf('ben'), 'notes:note', { text: 'of-ben' })
  await until(() => (ben?.heard() ?? '').includes('resources/updated'))
  assert.equal(ada?.heard().split('resources/updated').length, 2)
  assert.doesNotMatch(ada?.heard() ?? '', /of-ben/)
  assert.doesNotMatch(ben?.heard() ?? '', /of-ada/)
})

/** A session of the 2025 era with an open stream, subscribed to the notes. */
async function subscribe(t: TestContext, origin: string, user: string) {
  const session = await beginAs(origin, tokenOf(user))
  const headers = {
    authorization: `Bearer ${tokenOf(user)}`,
    'mcp-session-id': session,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
  }
  const end = new AbortController()
  t.after(() => end.abort())
  const url = `${origin}/servers/notes/mcp`
  const stream = await fetch(url, { headers, signal: end.signal })
  let heard = ''
  const read = async () => {
    for await (const chunk of stream.body ?? []) heard += Buffer.from(chunk).toString()
  }
  void read().catch(() => {})
  const ask = (method: string, params: JsonObject) =>
    fetch(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) })
  await (await ask('resources/subscribe', { uri: 'note://all' })).text()
  return { heard: () => heard }
}
