/** A laptop's gateway with one server that admits only people who logged in at a real authorization server, and the browser of such a person. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createLog } from '../../core/log.ts'
import type { LocalOptions } from '../../local/local-gateway.ts'
import { logIn } from '../login/person.ts'
import { startTestGateway } from '../support/local-gateway.ts'
import { createWorkspace } from '../support/manifests.ts'
import { until } from '../support/until.ts'
import { startNotes } from '../upstreams/users/http.ts'
import { startLoginServer } from '../upstreams/users/login-server.ts'

export async function start(t: TestContext, options: Partial<LocalOptions> = {}, oauth: object = {}) {
  const login = await startLoginServer()
  t.after(() => login.close())
  const revoked = new Set<string>()
  const notes = await startNotes(
    '2025',
    async authorization => {
      const token = authorization?.replace(/^Bearer /, '') ?? ''
      return (
        !revoked.has(token) &&
        login.verify(token, notes.url).then(
          () => true,
          () => false,
        )
      )
    },
    () => ({ resource: notes.url, authorization_servers: [login.issuer], scopes_supported: ['read'] }),
  )
  t.after(() => notes.close())
  const space = createWorkspace()
  const spec = { remote: { url: notes.url }, sessions: 'perUser', auth: { perUser: { oauth } } }
  space.write('notes', spec)
  const lines: string[] = []
  const log = createLog({ level: 'trace', destination: { write: line => void lines.push(line) } })
  const gateway = await startTestGateway(space, { log, ...options })
  t.after(async () => {
    await gateway.close()
    space.remove()
  })
  const origin = new URL(gateway.url).origin
  const state = () => gateway.status().servers[0]?.state
  return {
    ...{ login, notes, space, spec, gateway, origin, state },
    log: () => lines.join(''),
    /** The server refuses the token of the last request from now on. */
    refuse: () => void revoked.add(notes.requests.at(-1)?.authorization?.replace('Bearer ', '') ?? ''),
    async logIn(who?: string) {
      const { back, cookie } = await openLink(origin, who)
      const done = await fetch(back, { headers: { cookie } })
      assert.equal(done.status, 200, await done.text())
      await until(() => state() === 'ready')
    },
    /** The files of the logins, with their whole paths. */
    kept: () => readdirSync(join(space.cache, 'logins')).map(name => join(space.cache, 'logins', name)),
  }
}

/** What a browser does that opens the link and presses the button; returns the URL that it is sent back to, and its cookie. */
export async function openLink(origin: string, who = 'local#user'): Promise<{ back: URL; cookie: string }> {
  const page = await fetch(`${origin}/connect/notes`)
  const text = await page.text()
  assert.ok(text.includes('The server <b>notes</b> (') && text.includes(`used by <b>${who}</b>`), text)
  const begun = await fetch(`${origin}/connect/notes`, {
    method: 'POST',
    headers: { origin },
    redirect: 'manual',
  })
  assert.equal(begun.status, 303, await begun.text())
  const cookie = begun.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const back = await logIn(new URL(begun.headers.get('location') ?? ''), `${origin}/connect/notes/callback`)
  return { back, cookie }
}
