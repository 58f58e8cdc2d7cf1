/** A real client logs in at a real authorization server, which it learns of from the gateway's answers alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type OAuthClientProvider, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'
import { type AccessConfig, OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import { createLog } from '../../core/log.ts'
import { startRouter } from '../../router/router.ts'
import { createInProcessSource } from '../../router/source/in-process-source.ts'
import { rule } from '../front/access-router.ts'
import { echo, snapshotOf, upstreamOf } from '../meta/fixture.ts'
import { freePort } from '../support/free-port.ts'
import { startScript } from '../support/processes.ts'
import { clientFile } from '../support/test-clients.ts'

const CALLBACK = 'http://127.0.0.1:9/callback'
const PAGES = 6

test('the SDK client logs in with PKCE, and finds what the rules grant to its group', async t => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const provider = await clientFile('oidc-provider', 'lib', 'index.js')
  const issuer = await startScript<{ issuer: string }>(['test/login/issuer.ts', provider, `${url}/mcp`])
  t.after(() => issuer.stop())
  const jwt = {
    name: 'own',
    issuer: issuer.ready.issuer,
    audiences: [`${url}/mcp`],
    keysFrom: { discovery: true as const },
    usernameClaim: 'sub',
    groupsClaim: 'groups',
    requiredScopes: ['mcp'],
    clockSkewMs: 30_000,
    maxLifetimeMs: 3_600_000,
  }
  const access: AccessConfig = {
    ...OPEN_ACCESS,
    url,
    auth: { anonymous: false, jwt: [jwt], revoked: [] },
    rules: [rule('dev', 'seen', { subjects: [{ kind: 'Group', name: 'dev' }] })],
  }
  const source = createInProcessSource()
  const log = createLog({ level: 'silent' })
  const router = await startRouter({ source, connect: () => upstreamOf(echo), host: '127.0.0.1', port, log })
  t.after(() => router.close(0))
  const tools = [{ name: 'get', description: 'Gets a thing', inputSchema: { type: 'object' } }]
  source.publish(snapshotOf({ seen: { offers: { tools } }, unseen: { offers: { tools } } }, { access }, 1))
  while (!router.catalog()) await new Promise(resolve => setImmediate(resolve))

  const person = createPerson()
  const transport = () => new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider: person })
  const first = transport()
  await assert.rejects(new Client({ name: 'test', version: '1' }).connect(first), UnauthorizedError)
  await first.finishAuth(await person.logIn())
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport())
  t.after(() => client.close())
  const found = await client.callTool({ name: 'discover_mcp_tools', arguments: { query: 'get a thing' } })
  const text = JSON.stringify(found.content)
  assert.match(text, /seen:get/)
  assert.doesNotMatch(text, /unseen:get/)
})

/** A client's memory, and the person before its browser. */
function createPerson(): OAuthClientProvider & { logIn(): Promise<string> } {
  let information: OAuthClientInformationMixed | undefined
  let tokens: OAuthTokens | undefined
  let verifier = ''
  let page = new URL(CALLBACK)
  return {
    redirectUrl: CALLBACK,
    clientMetadata: {
      client_name: 'test',
      redirect_uris: [CALLBACK],
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    clientInformation: () => information,
    saveClientInformation: given => {
      information = given
    },
    tokens: () => tokens,
    saveTokens: given => {
      tokens = given
    },
    redirectToAuthorization: given => {
      page = given
    },
    saveCodeVerifier: given => {
      verifier = given
    },
    codeVerifier: () => verifier,
    logIn: () => submitForms(page),
  }
}

/** Fills in every form until it is sent back to the client; resolves with the code that it brings. */
async function submitForms(start: URL): Promise<string> {
  const cookies = new Map<string, string>()
  let next: { url: URL; form?: URLSearchParams } = { url: start }
  for (let step = 0; step < PAGES * 2; step++) {
    const { url, form } = next
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form && { method: 'POST', body: form }),
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      cookies.set(name, value)
    }
    const location = response.headers.get('location')
    const html = await response.text()
    next = { url: new URL(location ?? /action="([^"]+)"/.exec(html)?.[1] ?? '', url) }
    if (next.url.href.startsWith(CALLBACK)) return next.url.searchParams.get('code') ?? ''
    const prompt = /name="prompt" value="([^"]+)"/.exec(html)?.[1] ?? ''
    if (location === null) next.form = new URLSearchParams({ prompt, login: 'ada', password: 'any' })
  }
  throw new Error('the login did not come to an end')
}
