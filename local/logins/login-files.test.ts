/** The files of logins: one per user, readable only by the owner of the process, and limited in number. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type User, userNamed } from '../../core/mcp/user.ts'
import type { KeptLogin } from '../../router/logins/kept-login.ts'
import { LoginFiles } from './login-files.ts'

const URL = 'https://notes.example.com/mcp'
const [ada, ben] = ['ada', 'ben'].map(name => userNamed(`https://login.example.com#${name}`) as User) as [
  User,
  User,
]

function loginOf({ subject }: User, token: string, name = 'notes'): KeptLogin {
  return {
    ...{ name, url: URL, subject, sinceMs: 1, renewedMs: 1 },
    server: { issuer: 'https://login.notes.example.com', metadata: {} as never },
    client: { client_id: 'portolan' },
    tokens: { access_token: token, token_type: 'bearer' },
  }
}

function start(t: TestContext, max?: number) {
  const cache = mkdtempSync(join(tmpdir(), 'portolan-logins-'))
  t.after(() => rmSync(cache, { recursive: true }))
  const folder = join(cache, 'logins')
  const tokenOf = async (user: User) => (await files.read('notes', URL, user))?.tokens.access_token
  const files = new LoginFiles(cache, max)
  return { files, folder, tokenOf, paths: () => readdirSync(folder).map(name => join(folder, name)) }
}

test('each user has a separate file that only its owner can read, and no user name leads out of the folder', async t => {
  const { files, folder, tokenOf, paths } = start(t)
  const eve = userNamed('https://login.example.com#../../eve') as User
  for (const user of [ada, ben, eve]) await files.write(loginOf(user, user.subject), user)
  assert.deepEqual(
    await Promise.all([ada, ben, eve].map(tokenOf)),
    [ada, ben, eve].map(u => u.subject),
  )
  for (const path of paths()) {
    assert.match(path.slice(folder.length), /^\/[0-9a-f]{64}\.json$/)
    assert.equal(statSync(path).mode & 0o777, 0o600)
  }
  assert.equal(statSync(folder).mode & 0o777, 0o700)
  const subjects = (await files.list()).map(({ login }) => login.subject)
  assert.deepEqual(
    subjects,
    [eve, ada, ben].map(({ subject }) => subject),
  )
  assert.equal(await files.deleteOf('notes', ada.subject), 1)
  assert.deepEqual(await Promise.all([ada, ben].map(tokenOf)), [undefined, ben.subject])
})

test("a user's file is ignored if it contains the login of another user", async t => {
  const { files, tokenOf, paths } = start(t)
  await files.write(loginOf(ada, 'of ada'), ada)
  const [first = ''] = paths()
  await files.write(loginOf(ben, 'of ben'), ben)
  const other = paths().find(path => path !== first) ?? ''
  writeFileSync(other, readFileSync(first))
  assert.deepEqual(await Promise.all([ada, ben].map(tokenOf)), ['of ada', undefined])
})

test('the number of logins is limited, and existing logins can still be renewed', async t => {
  const { files, tokenOf } = start(t, 2)
  await files.write(loginOf(ada, 'first'), ada)
  await files.write(loginOf(ada, 'other', 'other'), ada)
  await assert.rejects(files.write(loginOf(ben, 'of ben'), ben), { code: 'unavailable' })
  await files.write(loginOf(ada, 'renewed'), ada)
  assert.deepEqual(await Promise.all([ada, ben].map(tokenOf)), ['renewed', undefined])
})
