/** Credentials of each user on a laptop: a Secret is in the process or the requests of its user, and nowhere else. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Workspace } from '../support/manifests.ts'
import { until } from '../support/until.ts'
import { startNotes } from '../upstreams/users/http.ts'
import { callAs, tokenOf } from './as-user.ts'
import { type About, about, start } from './laptop-users.ts'

const USERS = 50

/** Writes the Secret of a user of the server `notes`. */
function writeSecret(space: Workspace, user: string, values: Record<string, string>): void {
  const metadata = {
    name: `notes-${user}`,
    labels: { 'portolan.dev/for': 'notes' },
    annotations: { 'portolan.dev/subject': `token#${user}` },
  }
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, stringData: values }
  writeFileSync(join(space.folder, `secret-${user}.json`), JSON.stringify(secret))
}

const SECRETS = {
  auth: { perUser: { secrets: { selector: { matchLabels: { 'portolan.dev/for': 'notes' } } } } },
}

test('the Secrets of fifty users are in their own processes, and nowhere else', async t => {
  const names = Array.from({ length: USERS }, (_, at) => `person${at}x`)
  const canary = (name: string) => `secret-of-${name}`
  const write = (space: Workspace) => {
    for (const name of names) writeSecret(space, name, { API_KEY: canary(name) })
  }
  const { origin, gateway, log } = await start(t, [...names, 'guest'], SECRETS, { write })
  const answers = await Promise.all(
    names.map(async name => {
      await callAs(origin, tokenOf(name), 'notes:note', { text: canary(name) })
      return { name, ...(await callAs(origin, tokenOf(name), 'notes:about')) }
    }),
  )
  for (const { name, raw, text } of answers) {
    const { pid, env } = JSON.parse(text) as About
    assert.equal(env.API_KEY, canary(name))
    const ownEnvironment = readFileSync(`/proc/${pid}/environ`, 'utf8')
    for (const other of names)
      if (other !== name) assert.ok(!raw.includes(canary(other)) && !ownEnvironment.includes(canary(other)))
  }
  const guest = await callAs(origin, tokenOf('guest'), 'notes:about')
  assert.ok(guest.isError)
  assert.match(
    guest.text,
    /create a Secret .*portolan\.dev\/for: notes.*portolan\.dev\/subject: "token#guest"/,
  )
  assert.equal(gateway.status().servers[0]?.state, 'ready')
  const pages = await Promise.all(
    ['/metrics', '/debug/status'].map(async path => (await fetch(`${origin}${path}`)).text()),
  )
  for (const text of [log(), guest.raw, ...pages]) assert.ok(!text.includes('secret-of-'))
})

test('a user whose Secret changes gets a new process with the new value, and others keep theirs', async t => {
  const write = (space: Workspace) => {
    for (const name of ['ada', 'ben']) writeSecret(space, name, { API_KEY: `old-${name}` })
  }
  const { origin, space, gateway } = await start(t, ['ada', 'ben'], SECRETS, { write, watch: true })
  const [ada, ben] = [await about(origin, 'ada'), await about(origin, 'ben')]
  writeSecret(space, 'ada', { API_KEY: 'new-ada' })
  await until(async () => (await about(origin, 'ada')).env.API_KEY === 'new-ada')
  await until(() => !existsSync(`/proc/${ada.pid}`))
  assert.equal((await about(origin, 'ben')).pid, ben.pid)
  rmSync(join(space.folder, 'secret-ben.json'))
  await until(async () => (await callAs(origin, tokenOf('ben'), 'notes:about')).isError)
  await until(() => !existsSync(`/proc/${ben.pid}`))
  assert.equal(gateway.users()[0]?.users.length, 1)
})

for (const era of ['2025', '2026'] as const)
  test(`a server of ${era} over HTTP gets the header of the user who calls; lists are read with the header of the manifest`, async t => {
    const notes = await startNotes(era)
    t.after(() => notes.close())
    const write = (space: Workspace) => {
      for (const name of ['ada', 'ben']) writeSecret(space, name, { token: `secret-of-${name}\n` })
      writeSecret(space, 'cyd', { other: 'secret-of-cyd' })
      const spec = { remote: { url: notes.url }, sessions: 'perUser', ...SECRETS }
      space.write('notes', { ...spec, headers: [{ name: 'authorization', value: 'Bearer for-lists' }] })
    }
    const { origin, log, space } = await start(t, ['ada', 'ben', 'cyd'], {}, { write, watch: true })
    assert.ok(notes.requests.every(({ authorization }) => authorization === 'Bearer for-lists'))
    const headerOf = async (name: string) => {
      const { text } = await callAs(origin, tokenOf(name), 'notes:about')
      return (JSON.parse(text) as { headers: Record<string, string> }).headers.authorization
    }
    const names = ['ada', 'ben'].flatMap(name => Array.from({ length: 10 }, () => name))
    const headers = await Promise.all(names.map(headerOf))
    assert.deepEqual(
      headers,
      names.map(name => `Bearer secret-of-${name}`),
    )
    const sessions = Map.groupBy(notes.requests, ({ session }) => session)
    sessions.delete(undefined)
    for (const requests of sessions.values())
      assert.equal(new Set(requests.map(({ authorization }) => authorization)).size, 1)
    assert.match((await callAs(origin, tokenOf('cyd'), 'notes:about')).text, /no usable key token/)
    writeSecret(space, 'ada', { token: 'secret-of-new-ada' })
    await until(async () => (await headerOf('ada')) === 'Bearer secret-of-new-ada')
    assert.ok(!log().includes('secret-of-'))
  })
