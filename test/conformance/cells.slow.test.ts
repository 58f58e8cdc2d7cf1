/** Clients of both eras with upstreams of both eras, over every transport: every feature of MCP is passed on. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { LocalGateway } from '../../local/local-gateway.ts'
import { CLIENT_KINDS, openClient } from './cells/clients.ts'
import { FEATURES, hashOfTools } from './cells/features.ts'
import { KINDS, startCells } from './cells/servers.ts'

/** For one feature, so that the report names the feature that hangs. */
const LIMIT_MS = 10_000
let gateway: LocalGateway
const urlOf = (server: string) => new URL(`/servers/${server}/mcp`, gateway.url).href

before(async () => {
  gateway = await startCells()
})
after(() => gateway?.close())

for (const kind of KINDS) {
  for (const clientKind of CLIENT_KINDS) {
    test(`${clientKind} uses every feature of ${kind.name}`, async t => {
      const client = await openClient(clientKind, urlOf(kind.name))
      t.after(() => client.close())
      const cell = { client, kind }
      for (const feature of FEATURES.filter(({ where }) => where?.(cell) ?? true))
        await t.test(feature.does, { timeout: LIMIT_MS }, () => feature.run(cell))
    })

    test(`${clientKind} without capabilities gets no questions from ${kind.name}`, async t => {
      const client = await openClient(clientKind, urlOf(kind.name), { silent: true })
      t.after(() => client.close())
      const failed = await client.call('test_missing_capability').catch(error => String(error.message))
      assert.match(typeof failed === 'string' ? failed : JSON.stringify(failed), /sampling/)
      assert.equal(client.asked.length, 0)
    })
  }

  test(`all clients see the same tools of ${kind.name}`, async t => {
    const hashes = CLIENT_KINDS.map(async clientKind => {
      const client = await openClient(clientKind, urlOf(kind.name))
      t.after(() => client.close())
      return hashOfTools(client)
    })
    assert.equal(new Set(await Promise.all(hashes)).size, 1)
  })
}
