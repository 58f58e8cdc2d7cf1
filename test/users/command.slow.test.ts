/** `portolan users` against a running gateway: it shows what each user has, and ends it. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { runPortolan } from '../support/portolan.ts'
import { until } from '../support/until.ts'
import { about, start } from './laptop-users.ts'

test('portolan users shows each user, and ends the process of one; a page in a browser cannot', async t => {
  const { origin, gateway } = await start(t, ['ada', 'ben'])
  const portolan = (...args: string[]) => runPortolan(['users', '--url', origin, ...args])
  assert.equal((await portolan()).stdout, 'no user has a session, process or pod of their own\n')
  const [ada, ben] = [await about(origin, 'ada'), await about(origin, 'ben')]
  assert.match((await portolan()).stdout, /notes {3}\w{10} {2}token#ada .*\nnotes {3}\w{10} {2}token#ben /)
  const { user = '' } = gateway.users()[0]?.users[0] ?? {}
  const page = `${origin}/debug/users/notes/${user}`
  for (const headers of [{ origin: 'http://127.0.0.1:1' }, { origin }, { 'sec-fetch-site': 'same-origin' }])
    assert.equal((await fetch(page, { method: 'DELETE', headers })).status, 403)
  const ended = await portolan('notes', 'token#ada', '--end')
  assert.deepEqual(
    [ended.code, ended.stdout],
    [0, 'ended the session, process or pod of token#ada at notes\n'],
    ended.stderr,
  )
  await until(() => !existsSync(`/proc/${ada.pid}`))
  assert.equal((await about(origin, 'ben')).pid, ben.pid)
  const [again, vague] = await Promise.all([
    portolan('notes', 'token#ada', '--end'),
    portolan('notes', '--end'),
  ])
  assert.match(again.stderr, /token#ada has no session, process or pod of their own at notes/)
  assert.match(vague.stderr, /--end needs the server and the user/)
  assert.deepEqual([again.code, vague.code], [1, 2])
})
