/** A laptop's gateway that knows its callers by an issuer, and one server whose users log in at the server's own authorization server. */
import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { decodeJwt } from 'jose'
import { createLog } from '../../core/log.ts'
import { userNamed } from '../../core/mcp/user.ts'
import type { LocalGateway, LocalOptions } from '../../local/local-gateway.ts'
import { logIn } from '../login/person.ts'
import { logInTwice } from '../login/twice.ts'
import { freePort } from '../support/free-port.ts'
import { startTestGateway } from '../support/local-gateway.ts'
import { createWorkspace } from '../support/manifests.ts'
import { startNotes } from '../upstreams/users/http.ts'
import { type LoginServer, startLoginServer } from '../upstreams/users/login-server.ts'
import { callbackUrl, startQuickLoginServer } from '../upstreams/users/quick-login-server.ts'
import { type Answer, callAs, tokenOf } from './as-user.ts'

/** The header Authorization with which the server shows its lists. */
export const FOR_LISTS = 'Bearer for-lists'

/** The authorization server of a side, and what a person does at its pages. */
export type Provider = Pick<LoginServer, 'issuer' | 'grants' | 'verify' | 'tokenFor' | 'close'>
export type Providers = { start: () => Promise<Provider>; browse: typeof logIn }

/** oidc-provider. */
export const REAL: Providers = { start: startLoginServer, browse: logIn }
/** For fast tests. */
export const QUICK: Providers = {
  start: startQuick,
  browse: async (page, _, who = '') => callbackUrl(page, who),
}

export type IssuerGatewayOptions = Partial<LocalOptions> & {
  providers: Providers
  /** `login` of the issuer in the gateway's manifest, for the gateway's origin. */
  client?: (issuer: Provider, origin: string) => Promise<object>
}

/** The gateway serves at `origin`; `robot` is a caller with a token of a Secret. */
export async function start(t: TestContext, { providers, client, ...options }: IssuerGatewayOptions) {
  const { browse } = providers
  const [issuer, login] = await Promise.all([providers.start(), providers.start()])
  const notes = await startUpstream(login)
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const space = createWorkspace()
  const spec = {
    remote: { url: notes.url },
    sessions: 'perUser',
    headers: [{ name: 'Authorization', value: FOR_LISTS }],
    auth: { perUser: { oauth: {} } },
  }
  space.write('notes', spec)
  const write = (name: string, object: object) =>
    writeFileSync(join(space.folder, `${name}.json`), JSON.stringify(object))
  write('callers', secretOf('callers', { robot: tokenOf('robot') }))
  const own = { name: 'own', issuer: issuer.issuer, audiences: [`${origin}/mcp`], requiredScopes: ['read'] }
  const jwt = [{ ...own, ...(client && { login: await client(issuer, origin) }) }]
  const gateway = gatewayOf({ url: origin, auth: { tokens: { secretName: 'callers' }, jwt } })
  write('gateway', gateway)
  const lines: string[] = []
  const log = createLog({ level: 'trace', destination: { write: line => void lines.push(line) } })
  let running: LocalGateway | undefined
  const begin = async () => {
    running = await startTestGateway(space, { port, log, ...options })
  }
  t.after(async () => {
    await running?.close()
    await Promise.all([issuer, login, notes].map(one => one.close()))
    space.remove()
  })
  await begin()
  const tokenFor = (who: string) => (who === 'robot' ? tokenOf(who) : issuer.tokenFor(who, `${origin}/mcp`))
  return {
    ...{ issuer, login, notes, space, spec, gateway, origin, write },
    log: () => lines.join(''),
    status: () => (running as LocalGateway).status(),
    async restart() {
      await running?.close()
      await begin()
    },
    about: async (who: string): Promise<Answer> => callAs(origin, await tokenFor(who), 'notes:about'),
    linkOf: (who: string) => `${origin}/connect/notes?for=${userNamed(`${issuer.issuer}#${who}`)?.id}`,
    /** Resolves with status and text of the last page. */
    open: (link: string, who: string, account = `${who}-at-notes`) =>
      logInTwice(browse, link, [who, account]),
    /** The account at the upstream whose token the server was called with. */
    accountIn: ({ text, isError }: Answer) => {
      assert.ok(!isError, text)
      const { headers } = JSON.parse(text) as { headers: { authorization: string } }
      return login.verify(headers.authorization.replace('Bearer ', ''), notes.url)
    },
    /** The files of the logins, with their whole paths. */
    kept: () => readdirSync(join(space.cache, 'logins')).map(name => join(space.cache, 'logins', name)),
  }
}

async function startQuick(): Promise<Provider> {
  const server = await startQuickLoginServer()
  return {
    ...server,
    async verify(token, audience) {
      const { aud, sub } = decodeJwt(token)
      assert.ok(server.tokens.includes(token) && aud === audience)
      return sub ?? ''
    },
    async tokenFor(subject, resource) {
      const body = new URLSearchParams({ grant_type: 'of a test', code: subject, resource })
      const response = await fetch(`${server.issuer}/token`, { method: 'POST', body })
      return ((await response.json()) as { access_token: string }).access_token
    },
  }
}

/** Shows its lists to whoever has the credential for them, and answers calls with a token of its authorization server. */
async function startUpstream(login: Provider) {
  const refused = new Set<string>()
  const notes = await startNotes(
    '2025',
    async (authorization = '') => {
      if (authorization === FOR_LISTS) return true
      const isKnown = () =>
        login.verify(authorization.replace('Bearer ', ''), notes.url).then(Boolean, () => false)
      return !refused.has(authorization) && isKnown()
    },
    () => ({ resource: notes.url, authorization_servers: [login.issuer], scopes_supported: ['read'] }),
  )
  return {
    ...notes,
    /** From now on, refuses the token that this call was made with. */
    refuse({ text }: Answer) {
      const { headers } = JSON.parse(text) as { headers: { authorization: string } }
      refused.add(headers.authorization)
    },
  }
}

export function secretOf(name: string, stringData: Record<string, string>): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData }
}

export function gatewayOf(spec: object): object {
  return { apiVersion: 'portolan.dev/v1alpha1', kind: 'McpGateway', metadata: { name: 'tools' }, spec }
}

/** Presses the button of the page, as a browser does: with its origin. */
export function press(origin: string, from = origin, host?: string): Promise<Response> {
  const headers = { origin: from, ...(host !== undefined && { host }) }
  return fetch(`${origin}/connect/notes?issuer=own`, { method: 'POST', headers, redirect: 'manual' })
}

/** The page to which the browser is sent. */
export function pageOf(begun: Response): URL {
  return new URL(begun.headers.get('location') ?? '')
}
