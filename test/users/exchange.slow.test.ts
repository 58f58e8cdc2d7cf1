/** Token exchange on a laptop, configured only by manifests. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { send } from '../front/access-router.ts'
import type { Workspace } from '../support/manifests.ts'
import { serve } from '../upstreams/http/serve.ts'
import {
  CLIENT,
  GATEWAY_AUDIENCE,
  startExchangeServer,
  UPSTREAM_AUDIENCE,
} from '../upstreams/users/exchange-server.ts'
import { startNotes } from '../upstreams/users/http.ts'
import { callAs } from './as-user.ts'
import { start } from './laptop-users.ts'

test("a laptop's server gets the exchanged token of the user who calls, and its lists are read with its own header", async t => {
  const issuing = await startExchangeServer()
  t.after(() => issuing.close())
  const subjects = new Set<string>()
  const notes = await startNotes('2025', async (authorization = '') => {
    const token = authorization.replace(/^Bearer /, '')
    subjects.add(token === 'for-lists' ? token : await issuing.verify(token, UPSTREAM_AUDIENCE))
    return true
  })
  t.after(() => notes.close())
  const tokenExchange = {
    tokenUrl: issuing.tokenUrl,
    clientId: CLIENT.id,
    clientSecretRef: { name: 'client', key: 'secret' },
    audience: UPSTREAM_AUDIENCE,
  }
  const write = (space: Workspace) => {
    space.write('notes', {
      remote: { url: notes.url },
      sessions: 'perUser',
      headers: [{ name: 'authorization', value: 'Bearer for-lists' }],
      auth: { perUser: { tokenExchange } },
    })
    const jwt = [{ name: 'own', issuer: issuing.issuer, audiences: [GATEWAY_AUDIENCE] }]
    writeManifest(space, 'McpGateway', 'tools', { spec: { url: 'https://mcp.example.com', auth: { jwt } } })
    writeManifest(space, 'Secret', 'client', { stringData: { secret: CLIENT.secret } })
  }
  const { origin, log } = await start(t, [], {}, { write })
  assert.deepEqual([...subjects], ['for-lists'])
  for (const name of ['ada', 'ben']) {
    const token = await issuing.tokenFor(name)
    const { text, isError } = await callAs(origin, token, 'notes:about')
    assert.ok(!isError, text)
    assert.ok(!log().includes(token.slice(-40)) && !JSON.stringify(notes.requests).includes(token))
  }
  assert.deepEqual([...subjects], ['for-lists', 'ada', 'ben'])
})

test("a server's token endpoint elsewhere gets callers' tokens only if the gateway allows its origin", async t => {
  const issuing = await startExchangeServer()
  t.after(() => issuing.close())
  const notes = await startNotes('2025', async () => true)
  t.after(() => notes.close())
  const asked: string[] = []
  const elsewhere = await serve((request, response) => {
    asked.push(request.url ?? '')
    response.writeHead(400).end()
  })
  t.after(() => elsewhere.close())
  const token = await issuing.tokenFor('ada')
  const spec = {
    remote: { url: notes.url },
    sessions: 'perUser',
    discovery: { perUser: true },
    auth: {
      perUser: {
        tokenExchange: {
          tokenUrl: `${elsewhere.origin}/token`,
          clientId: CLIENT.id,
          clientSecretRef: { name: 'client', key: 'secret' },
        },
      },
    },
  }
  const use = async (more: object) => {
    const write = (space: Workspace) => {
      space.write('notes', spec)
      const jwt = [{ name: 'own', issuer: issuing.issuer, audiences: [GATEWAY_AUDIENCE] }]
      const auth = { jwt, ...more }
      writeManifest(space, 'McpGateway', 'tools', { spec: { url: 'https://mcp.example.com', auth } })
      writeManifest(space, 'Secret', 'client', { stringData: { secret: CLIENT.secret } })
    }
    const { origin } = await start(t, [], {}, { write })
    const search = { name: 'discover_mcp_tools', arguments: { query: 'notes' } }
    assert.equal((await send(origin, { method: 'tools/call', params: search }, { token })).status, 200)
    return (await callAs(origin, token, 'notes:about')).text
  }
  assert.match(await use({}), /not accepted \(ExchangeNotAllowed\)/)
  assert.equal(asked.length, 0)
  await use({ tokenExchangeOrigins: [elsewhere.origin] })
  assert.ok(asked.includes('/token'))
})

/** Writes a manifest to its own file. The McpGateway replaces the one that `start` wrote. */
function writeManifest(space: Workspace, kind: 'McpGateway' | 'Secret', name: string, content: object): void {
  const apiVersion = kind === 'Secret' ? 'v1' : 'portolan.dev/v1alpha1'
  const file = kind === 'McpGateway' ? 'gateway.json' : `${name}.json`
  writeFileSync(
    join(space.folder, file),
    JSON.stringify({ apiVersion, kind, metadata: { name }, ...content }),
  )
}
