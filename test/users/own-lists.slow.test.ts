/** Users of a laptop's gateway whose lists differ (`discovery.perUser`): those of a server over HTTP, and those of their own processes. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { send } from '../front/access-router.ts'
import { streamed } from '../front/post.ts'
import type { Workspace } from '../support/manifests.ts'
import { marked } from '../support/processes-left.ts'
import { until } from '../support/until.ts'
import { startOwnLists } from '../upstreams/users/own-lists.ts'
import { callAs, tokenOf } from './as-user.ts'
import { about, start } from './laptop-users.ts'

const SPEC = {
  auth: { perUser: { secrets: { selector: { matchLabels: { for: 'own' } } } } },
  discovery: { perUser: true },
}

function writeSecret(space: Workspace, user: string, stringData: Record<string, string>): void {
  const annotations = { 'portolan.dev/subject': `token#${user}` }
  const metadata = { name: `own-${user}`, labels: { for: 'own' }, annotations }
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, stringData }
  writeFileSync(join(space.folder, `secret-${user}.json`), JSON.stringify(secret))
}

/** Tool paths, best first. */
async function found(origin: string, user: string, query: string): Promise<string[]> {
  const params = { name: 'discover_mcp_tools', arguments: { query } }
  const { text } = await send(origin, { method: 'tools/call', params }, { token: tokenOf(user) })
  return [...text.matchAll(/tool_path\\":\\"([^"\\]+)/g)].map(([, path]) => path ?? '')
}

async function listed(origin: string, user: string, server: string): Promise<string[]> {
  const path = `/servers/${server}/mcp`
  const { text } = await send(origin, { method: 'tools/list' }, { path, token: tokenOf(user) })
  const message = (text.startsWith('{') ? JSON.parse(text) : streamed(text).at(-1)) as JsonObject
  return ((message.result as JsonObject).tools as { name: string }[]).map(({ name }) => name)
}

test('two users over HTTP find and call what the server lists for each, from the first search on', async t => {
  const offers = { '': ['weather'], ada: ['weather', 'payroll'], ben: ['ledger'] }
  const server = await startOwnLists(offers)
  t.after(() => server.close())
  const write = (space: Workspace) => {
    for (const user of ['ada', 'ben']) writeSecret(space, user, { token: user })
    space.write('own', { remote: { url: server.url }, sessions: 'perUser', ...SPEC })
  }
  const { origin, space, log } = await start(t, ['ada', 'ben', 'guest'], {}, { write, watch: true })
  const query = 'salaries of employees; bookings of an account; weather of a city'
  const own = async (user: string) =>
    (await found(origin, user, query)).filter(path => path.startsWith('own:')).sort()
  assert.deepEqual(await own('ada'), ['own:payroll', 'own:weather'])
  assert.deepEqual(await own('ben'), ['own:ledger'])
  assert.deepEqual(await own('guest'), ['own:weather'])
  const paid = await callAs(origin, tokenOf('ada'), 'own:payroll', { payroll_of: 'x' })
  assert.equal(paid.text, 'payroll for ada: {"payroll_of":"x"}')
  assert.ok((await callAs(origin, tokenOf('ben'), 'own:payroll', { payroll_of: 'x' })).isError)
  assert.ok(!server.requests.includes('ben tools/call'))
  // A new Secret is a new session: what it lists replaces what the old one did.
  writeSecret(space, 'ada', { token: 'ben' })
  await until(async () => (await own('ada')).join() === 'own:ledger')
  space.write('own', { remote: { url: server.url }, sessions: 'perUser', ...SPEC, discovery: {} })
  await until(async () => (await own('ben')).join() === 'own:weather')
  assert.doesNotMatch(log(), /"level":"error"/)
})

test('a search starts no process of a user, whose own lists are read after the first call', async t => {
  const write = (space: Workspace) => {
    writeSecret(space, 'ada', { OWN_TOOL: 'treasure' })
    writeSecret(space, 'ben', { OWN_TOOL: '' })
  }
  const { origin, mark, gateway } = await start(t, ['ada', 'ben'], SPEC, { write })
  const shared = ['about', 'crash', 'note']
  await until(async () => (await listed(origin, 'ada', 'notes')).length > 0)
  assert.deepEqual(await listed(origin, 'ada', 'notes'), shared)
  assert.deepEqual(
    (await found(origin, 'ada', 'notes treasure')).filter(path => /treasure/.test(path)),
    [],
  )
  assert.deepEqual(gateway.users()[0]?.users, [])
  const before = marked(mark).length
  await about(origin, 'ada')
  await about(origin, 'ben')
  assert.equal(marked(mark).length, before + 2)
  await until(async () => (await listed(origin, 'ada', 'notes')).includes('treasure'))
  assert.deepEqual(await listed(origin, 'ben', 'notes'), shared)
  assert.equal((await found(origin, 'ada', 'notes treasure'))[0], 'notes:treasure')
  assert.ok(!(await callAs(origin, tokenOf('ada'), 'notes:treasure')).isError)
  const refused = await callAs(origin, tokenOf('ben'), 'notes:treasure')
  assert.ok(refused.isError)
  const [ada] = gateway.users()[0]?.users ?? []
  assert.ok(gateway.endUser('notes', ada?.user ?? ''))
  assert.deepEqual(await listed(origin, 'ada', 'notes'), shared)
})
