/** What a catalog is built from, and what is reused of the previous one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { searchTexts } from '../../core/catalog/search-text.ts'
import { packVectors, quantize } from '../../core/catalog/vectors.ts'
import { drive, type FixtureServer, snapshotOf } from '../../test/meta/fixture.ts'
import { forge, SERVERS, wiki } from '../../test/meta/servers.ts'
import { buildCatalog, type Catalog, isShown, routeOf } from './catalog.ts'

test('tools are found by both names, and search uses the same ids as the catalog', () => {
  const catalog = build(SERVERS)
  const route = catalog.toolByName.get('forge:create_issue')
  assert.equal(catalog.toolByName.get('forge__create_issue'), route)
  assert.deepEqual([route?.server, route?.tool], ['forge', 'create_issue'])
  for (const [id, tool] of catalog.tools.entries()) {
    const document = catalog.index.documents[id]
    assert.deepEqual([document?.server, document?.tool], [tool.server, tool.tool])
  }
})

test('a changed state rebuilds nothing, and changes what is visible and counted', () => {
  const before = build(SERVERS)
  const hidden = { status: { state: 'failed', hidden: true } as const }
  const after = build({ ...SERVERS, forge: { ...forge, server: { ...forge.server, ...hidden } } }, before)
  assert.equal(after.index, before.index)
  assert.equal(after.tools, before.tools)
  assert.equal(after.toolByName, before.toolByName)
  assert.equal(before.shown, undefined)
  const shown = after.tools.filter((_, id) => after.shown?.(id)).map(tool => tool.server)
  assert.deepEqual([...new Set(shown)], ['wiki'])
  assert.deepEqual(
    [isShown(before, 'forge'), isShown(after, 'forge'), isShown(after, 'nobody')],
    [true, false, false],
  )
  assert.deepEqual(after.totals, {
    servers: 1,
    tools: 3,
    tokens: after.parts[1]?.tokens,
    resources: 1,
    templates: 0,
    prompts: 0,
  })
  assert.ok(after.generation > before.generation)
})

test('a changed list rebuilds only its own server', () => {
  const before = build(SERVERS)
  const tools = [
    ...(wiki.offers?.tools ?? []),
    { name: 'rename', description: 'Rename a page', inputSchema: {} },
  ]
  const after = build({ forge, wiki: { ...wiki, offers: { ...wiki.offers, tools } } }, before)
  assert.equal(after.parts[0], before.parts[0])
  assert.notEqual(after.parts[1], before.parts[1])
  assert.equal(after.toolByName.get('wiki:rename')?.tool, 'rename')
  assert.equal(before.toolByName.get('wiki:rename'), undefined)
})

test('a changed policy or description of a server changes what is offered', () => {
  const before = build(SERVERS)
  const deny = { tools: { allow: ['*'], deny: ['*issue*'], overrides: {} } }
  const denied = build({ ...SERVERS, forge: { ...forge, server: deny } }, before)
  assert.equal(denied.toolByName.get('forge:create_issue'), undefined)
  assert.ok(denied.totals.tokens < before.totals.tokens)
  const described = build(
    { ...SERVERS, forge: { ...forge, server: { ...forge.server, keywords: ['tracker'] } } },
    before,
  )
  assert.notEqual(described.index, before.index)
})

test('new vectors change nothing that is offered', () => {
  const before = build(SERVERS)
  const snapshot = snapshotOf(SERVERS, {}, ++generation)
  const vectors = packVectors('hashing/1', new Map([['key', quantize([1, 0])]]))
  const catalogs = [...snapshot.catalogs].map(([name, catalog]) => [name, { ...catalog, vectors }] as const)
  const after = drive(buildCatalog({ ...snapshot, catalogs: new Map(catalogs) }, before))
  assert.deepEqual(
    [after.parts, after.index, after.extraIndex],
    [before.parts, before.index, before.extraIndex],
  )
  assert.equal(after.index, before.index)
})

test('every tool, resource and prompt has the key of the text that is encoded for it', () => {
  const catalog = build(SERVERS)
  const keys = catalog.parts.flatMap(({ server }) => {
    const known = catalog.servers.get(server)
    const list = catalog.catalogs.get(server)
    return known && list ? searchTexts(known, list).map(({ key }) => key) : []
  })
  const routes = [...catalog.tools, ...catalog.extras.map(routeOf)]
  assert.deepEqual(routes.map(({ textKey }) => textKey).sort(), keys.sort())
})

test('a server that was never discovered is listed without tools', () => {
  const catalog = build({ fresh: { server: { status: { state: 'starting', hidden: false } } } })
  assert.equal(catalog.servers.get('fresh')?.status.state, 'starting')
  assert.deepEqual([catalog.totals.servers, catalog.totals.tools, catalog.catalogs.size], [1, 0, 0])
})

test('names that a listed name cannot hold are mapped, without collisions', () => {
  const tools = ['a.b', 'a_b', 'a b', 'x'.repeat(90)].map(name => ({ name, inputSchema: {} }))
  const catalog = build({ odd: { offers: { tools } } })
  const names = catalog.tools.map(tool => tool.listedName)
  assert.equal(new Set(names).size, 4)
  for (const name of names) assert.match(name, /^odd__[A-Za-z0-9_-]{1,59}$/)
  for (const tool of catalog.tools) assert.equal(catalog.toolByName.get(tool.listedName), tool)
})

test('building yields at least every 50 tools', () => {
  const tools = Array.from({ length: 500 }, (_, i) => ({ name: `tool_${i}`, inputSchema: {} }))
  const steps = buildCatalog(snapshotOf({ big: { offers: { tools } } }, {}, 1))
  let yields = 0
  while (!steps.next().done) yields++
  assert.ok(yields >= 10, `${yields} yields`)
})

let generation = 0
function build(servers: Record<string, FixtureServer>, previous?: Catalog): Catalog {
  return drive(buildCatalog(snapshotOf(servers, {}, ++generation), previous))
}
