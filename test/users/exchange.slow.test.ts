/** Token exchange on a laptop, configured only by manifests. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Workspace } from '../support/manifests.ts'
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

/** Writes a manifest to its own file. The McpGateway replaces the one that `start` wrote. */
function writeManifest(space: Workspace, kind: 'McpGateway' | 'Secret', name: string, content: object): void {
  const apiVersion = kind === 'Secret' ? 'v1' : 'portolan.dev/v1alpha1'
  const file = kind === 'McpGateway' ? 'gateway.json' : `${name}.json`
  writeFileSync(
    join(space.folder, file),
    JSON.stringify({ apiVersion, kind, metadata: { name }, ...content }),
  )
}
