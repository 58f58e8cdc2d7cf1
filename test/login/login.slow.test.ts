/** Real clients log in at a real authorization server, which they find only through the gateway's answers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
  UnauthorizedError as ModernUnauthorizedError,
  type OAuthDiscoveryState,
} from '@modelcontextprotocol/client'
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'
import { startGatewayWithLogin } from './gateway.ts'
import { createInspector } from './inspector.ts'
import { logIn } from './person.ts'

const CALLBACK = 'http://127.0.0.1:9/callback'
const CLIENT_INFO = { name: 'test', version: '1' }
const WRITE = { name: 'execute_mcp_tool', arguments: { tool_path: 'seen:set', arguments: {} } }
const SEARCH = { name: 'discover_mcp_tools', arguments: { query: 'get a thing' } }

test('the SDK client logs in with PKCE, and finds what the rules grant to its group', async t => {
  const url = await startGatewayWithLogin(t)
  const person = createPerson()
  const transport = () => new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider: person })
  const first = transport()
  await assert.rejects(new Client(CLIENT_INFO).connect(first), UnauthorizedError)
  await first.finishAuth((await person.logIn()).get('code') ?? '')
  const client = new Client(CLIENT_INFO)
  await client.connect(transport())
  t.after(() => client.close())
  const text = JSON.stringify((await client.callTool(SEARCH)).content)
  assert.match(text, /seen:get/)
  assert.doesNotMatch(text, /unseen:get/)
})

for (const mode of ['legacy', { pin: '2026-07-28' }] as const) {
  const era = mode === 'legacy' ? '2025' : mode.pin
  test(`the client of SDK 2.x logs in, speaking ${era}, and later asks for the scope that a call needs`, async t => {
    const url = await startGatewayWithLogin(t)
    const person = createPerson()
    const transport = () => new ModernTransport(new URL(`${url}/mcp`), { authProvider: person })
    const connectOver = async (chosen: ModernTransport) => {
      const client = new ModernClient(CLIENT_INFO, { versionNegotiation: { mode } })
      await client.connect(chosen)
      t.after(() => client.close())
      return client
    }
    const first = transport()
    await assert.rejects(connectOver(first), ModernUnauthorizedError)
    await first.finishAuth(await person.logIn())
    const second = transport()
    const client = await connectOver(second)
    const text = JSON.stringify((await client.callTool(SEARCH)).content)
    assert.match(text, /seen:get/)
    assert.doesNotMatch(text, /unseen:get/)
    await assert.rejects(client.callTool(WRITE), ModernUnauthorizedError)
    assert.deepEqual(scopesAt(person.page()), ['mcp', 'write'])
    await second.finishAuth(await person.logIn())
    assert.ok(!(await client.callTool(WRITE)).isError)
  })
}

for (const era of ['legacy', 'auto', 'modern'])
  test(`the inspector's command line logs in, in era ${era}, and keeps its token`, async t => {
    const url = await startGatewayWithLogin(t)
    const inspector = await createInspector(t, `${url}/mcp`)
    const call = ['--method', 'tools/call', '--tool-name', SEARCH.name]
    const args = ['--protocol-era', era, ...call, '--tool-args-json', JSON.stringify(SEARCH.arguments)]
    const found = await inspector.run(args)
    assert.equal(found.code, 0, found.stderr)
    assert.match(found.stdout, /seen:get/)
    assert.doesNotMatch(found.stdout, /unseen:get/)
    const [page] = found.pages
    assert.equal(found.pages.length, 1)
    assert.equal(page?.searchParams.get('code_challenge_method'), 'S256')
    assert.equal(page?.searchParams.get('resource'), `${url}/mcp`)
    assert.deepEqual(scopesAt(page), ['mcp'])
    const again = await inspector.run(args)
    assert.deepEqual([again.code, again.pages], [0, []], again.stderr)
  })

/** The scopes that a client asks for, without `offline_access`, which clients add because the authorization server offers it. */
function scopesAt(page: URL | undefined): string[] | undefined {
  const scopes = page?.searchParams.get('scope')?.split(' ')
  return scopes?.filter(scope => scope !== 'offline_access').sort()
}

/** What a client remembers, in the form that both SDKs take, and the person who logs in for it. */
function createPerson() {
  let information: OAuthClientInformationMixed | undefined
  let tokens: OAuthTokens | undefined
  let verifier = ''
  let discovered: OAuthDiscoveryState | undefined
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
    saveClientInformation: (given: OAuthClientInformationMixed) => {
      information = given
    },
    tokens: () => tokens,
    saveTokens: (given: OAuthTokens) => {
      tokens = given
    },
    redirectToAuthorization: (given: URL) => {
      page = given
    },
    saveCodeVerifier: (given: string) => {
      verifier = given
    },
    codeVerifier: () => verifier,
    saveDiscoveryState: (given: OAuthDiscoveryState) => {
      discovered = given
    },
    discoveryState: () => discovered,
    page: () => page,
    logIn: async () => (await logIn(page, CALLBACK)).searchParams,
  }
}
