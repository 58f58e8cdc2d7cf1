/** The catalog cache on disk: its keys, its limit, and damaged files. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { ServerCatalog } from '../core/catalog/server-catalog.ts'
import { createCatalogCache } from './catalog-cache.ts'

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-catalogs-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const catalog: ServerCatalog = {
  server: 'notes',
  protocol: '2025-11-25',
  capabilities: { tools: {} },
  tools: [{ definition: { name: 'add', inputSchema: {} }, tokens: 9, descriptionTokens: 0, schemaTokens: 2 }],
  invalid: [],
  resources: [],
  resourceTemplates: [],
  prompts: [],
  incomplete: [],
  digest: 'd',
}

test('a cached list is used only for the same server from the same source', async t => {
  const cache = createCatalogCache(join(folderFor(t), 'new', 'folder'))
  await cache.save('notes', 'r1', { catalog, at: 5 })
  assert.deepEqual(await cache.load('notes', 'r1'), { catalog, at: 5 })
  assert.equal(await cache.load('notes', 'r2'), undefined)
  assert.equal(await cache.load('other', 'r1'), undefined)
})

test('a truncated or invalid file counts as absent', async t => {
  const folder = folderFor(t)
  const cache = createCatalogCache(folder)
  await cache.save('notes', 'r1', { catalog, at: 5 })
  const file = join(folder, readdirSync(folder)[0] ?? '')
  const broken = [
    '',
    '{"catalog":',
    'null',
    '{"at":1,"catalog":{}}',
    JSON.stringify({ at: 1, catalog: { ...catalog, tools: [{}] } }),
  ]
  for (const text of broken) {
    writeFileSync(file, text)
    assert.equal(await cache.load('notes', 'r1'), undefined, text)
  }
})

test('writing leaves no incomplete files, and beyond the limit the oldest files are deleted', async t => {
  const folder = folderFor(t)
  const cache = createCatalogCache(folder)
  for (let i = 0; i < 1005; i++) writeFileSync(join(folder, `old-${i}.json`), '')
  for (let i = 0; i < 1005; i++) utimesSync(join(folder, `old-${i}.json`), 1, 1)
  // Another process may be writing it.
  writeFileSync(join(folder, 'unfinished.new'), '')
  await cache.save('notes', 'r1', { catalog, at: 5 })
  await cache.prune()
  const left = readdirSync(folder).filter(name => name !== 'unfinished.new')
  assert.equal(left.length, 1000)
  assert.ok(left.some(name => name.startsWith('notes-') && name.endsWith('.json')))
  assert.ok(await cache.load('notes', 'r1'))
})
