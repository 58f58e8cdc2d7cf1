/** The logins that a laptop keeps: renewed once for all waiting calls, and deleted when they can no longer be renewed or their server is gone. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { REMOVED_AFTER_MS } from '../../local/logins/removed-servers.ts'
import { createLeapClock } from '../support/leap-clock.ts'
import { runPortolan } from '../support/portolan.ts'
import { until } from '../support/until.ts'
import { callAs } from './as-user.ts'
import { start } from './login-gateway.ts'

test('a refused token is renewed once for all waiting calls, and kept while the authorization server is down', async t => {
  const { origin, login, refuse, logIn, kept } = await start(t)
  await logIn()
  await callAs(origin, undefined, 'notes:about')
  refuse()
  login.away(true)
  const away = await callAs(origin, undefined, 'notes:about')
  assert.match(away.text, /cannot be reached/)
  assert.equal(kept().length, 1)
  login.away(false)
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => callAs(origin, undefined, 'notes:about')),
  )
  for (const { isError, text } of answers) assert.ok(!isError, text)
  assert.deepEqual(login.grants, ['authorization_code', 'refresh_token'])
})

test('a login that the authorization server does not renew is deleted, and the user is asked to log in again', async t => {
  const { origin, login, refuse, logIn, kept } = await start(t)
  await logIn()
  const [file = ''] = kept()
  const former = readFileSync(file)
  await callAs(origin, undefined, 'notes:about')
  refuse()
  await callAs(origin, undefined, 'notes:about')
  // The refresh token of this file was already used.
  writeFileSync(file, former)
  const asked = await callAs(origin, undefined, 'notes:about')
  assert.ok(asked.isError && asked.text.endsWith(`${origin}/connect/notes`), asked.text)
  assert.deepEqual(kept(), [])
  assert.deepEqual(login.grants, ['authorization_code', 'refresh_token'])
  await logIn()
  assert.ok(!(await callAs(origin, undefined, 'notes:about')).isError)
})

test('a login whose renewed token is refused, too, is deleted instead of renewed again', async t => {
  const { origin, login, refuse, logIn, kept } = await start(t)
  await logIn()
  for (let calls = 0; calls < 2; calls++) {
    await callAs(origin, undefined, 'notes:about')
    refuse()
  }
  const asked = await callAs(origin, undefined, 'notes:about')
  assert.ok(asked.isError && asked.text.endsWith(`${origin}/connect/notes`), asked.text)
  assert.deepEqual([kept(), login.grants], [[], ['authorization_code', 'refresh_token']])
})

test('the logins of a removed manifest are deleted; not those of one that is briefly away, broken or suspended', async t => {
  const clock = createLeapClock()
  const { origin, space, spec, gateway, state, logIn, kept } = await start(t, { clock, watch: true })
  await logIn()
  const problems = () => gateway.status().problems.length
  space.delete('notes')
  await until(() => state() === undefined)
  clock.advance(REMOVED_AFTER_MS / 2)
  space.write('notes', spec)
  await until(() => state() === 'ready')
  clock.advance(REMOVED_AFTER_MS)
  writeFileSync(join(space.folder, 'notes.yaml'), 'kind: [')
  await until(() => problems() > 0)
  clock.advance(2 * REMOVED_AFTER_MS)
  space.write('notes', { ...spec, suspend: true })
  await until(() => state() === 'suspended')
  clock.advance(2 * REMOVED_AFTER_MS)
  space.write('notes', spec)
  await until(() => state() === 'ready')
  const { isError, text } = await callAs(origin, undefined, 'notes:about')
  assert.ok(!isError, text)
  assert.equal(kept().length, 1)
  space.delete('notes')
  await until(() => state() === undefined)
  clock.advance(REMOVED_AFTER_MS)
  await until(() => kept().length === 0)
  space.write('notes', spec)
  await until(() => gateway.status().servers[0]?.reason === 'NeedsLogin')
})

test('portolan logins lists what is kept, without tokens, and deletes it', async t => {
  const { origin, space, spec, logIn, kept } = await start(t)
  const portolan = (...args: string[]) => runPortolan(['logins', ...args], { PORTOLAN_CACHE: space.cache })
  assert.equal((await portolan()).stdout, 'no logins\n')
  await logIn()
  const [table, json, others] = await Promise.all([
    portolan(),
    portolan('notes', 'local#user', '--output', 'json'),
    portolan('other'),
  ])
  assert.match(table.stdout, /^SERVER .*\nnotes {3}local#user {2}http:\S+ {2}20\S+Z {2}read\n$/)
  const [shown, ...more] = JSON.parse(json.stdout) as { server: string; url: string }[]
  assert.deepEqual([shown?.server, shown?.url, more], ['notes', spec.remote.url, []])
  assert.equal(others.stdout, 'no logins\n')
  const { tokens } = JSON.parse(readFileSync(kept()[0] ?? '', 'utf8')) as { tokens: Record<string, string> }
  for (const text of [table.stdout, json.stdout])
    assert.ok(!text.includes(tokens.access_token ?? '') && !text.includes(tokens.refresh_token ?? ''))
  const [vague, wrong] = await Promise.all([portolan('--delete'), portolan('notes', 'token#ada', '--delete')])
  assert.match(vague.stderr, /--delete needs the server/)
  assert.match(wrong.stderr, /there is no login at notes of token#ada/)
  assert.deepEqual([vague.code, wrong.code, kept().length], [2, 1, 1])
  const deleted = await portolan('notes', '--delete')
  assert.deepEqual([deleted.code, deleted.stdout], [0, 'deleted: 1\n'], deleted.stderr)
  assert.deepEqual(kept(), [])
  // The running gateway keeps no copy.
  assert.ok((await callAs(origin, undefined, 'notes:about')).text.endsWith(`${origin}/connect/notes`))
})
