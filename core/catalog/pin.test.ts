/** Pinned tools: which tools of a list are served after the first approval. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serverCatalogOf } from './catalog-shape.ts'
import { pinTools, withHeld } from './pin.ts'
import type { ServerCatalog, ToolDefinition } from './server-catalog.ts'
import { changesForStatus, changesLine, changesOf, digestOfTools } from './tool-changes.ts'

const ALL = { allow: ['*'], deny: [] }
const HOLD = { ...ALL, pin: 'Hold' as const }
const WARN = { ...ALL, pin: 'Warn' as const }

function tool(name: string, more: object = {}): ToolDefinition {
  return { name, description: `Does ${name}`, inputSchema: { type: 'object' }, ...more }
}

function catalogOf(...definitions: ToolDefinition[]): ServerCatalog {
  return {
    server: 's',
    protocol: '2025-11-25',
    capabilities: {},
    tools: definitions.map(definition => ({ definition, tokens: 3, descriptionTokens: 2, schemaTokens: 1 })),
    invalid: [],
    resources: [],
    resourceTemplates: [],
    prompts: [],
    incomplete: [],
    digest: `found-${digestOfTools(definitions)}`,
  }
}

const served = ({ tools }: ServerCatalog) => tools.map(({ definition }) => definition.name)

test('without a pin nothing is compared', () => {
  const catalog = catalogOf(tool('a'))
  assert.deepEqual(pinTools(catalog, { policy: ALL, approved: [] }), { catalog, approved: [] })
})

test('the first tools are approved; an empty list approves nothing', () => {
  const catalog = catalogOf(tool('a'), tool('b'))
  assert.deepEqual(pinTools(catalog, { policy: HOLD, approved: undefined }), {
    catalog,
    approved: [tool('a'), tool('b')],
  })
  assert.equal(pinTools(catalogOf(), { policy: HOLD, approved: undefined }).approved, undefined)
})

test('a tool counts as changed if any of its fields differs, but not if only the order of keys does', () => {
  const before = tool('a', { annotations: { readOnlyHint: true, title: 'A' } })
  const changes: object[] = [
    { title: 'A' },
    { description: 'Does a.' },
    { inputSchema: { type: 'object', properties: { x: { description: 'new' } } } },
    { outputSchema: { type: 'object' } },
    { annotations: { readOnlyHint: false, title: 'A' } },
    { _meta: { note: 'for the model' } },
  ]
  for (const change of changes)
    assert.deepEqual(changesOf([before], [{ ...before, ...change }])?.changed, ['a'])
  const sorted = tool('a', { annotations: { title: 'A', readOnlyHint: true } })
  assert.equal(changesOf([before], [sorted]), undefined)
})

test('Warn serves changed and new tools, and reports the changes', () => {
  const found = catalogOf(tool('a', { title: 'x' }), tool('c'))
  const { catalog, approved, changes } = pinTools(found, { policy: WARN, approved: [tool('a'), tool('b')] })
  assert.equal(catalog, found)
  assert.deepEqual(approved, [tool('a'), tool('b')])
  assert.deepEqual(changes, {
    digest: digestOfTools([tool('a', { title: 'x' }), tool('c')]),
    changed: ['a'],
    added: ['c'],
    removed: ['b'],
  })
})

test('Hold serves only approved definitions, and lists what it holds', () => {
  const found = catalogOf(tool('a', { title: 'x' }), tool('b'), tool('c'))
  const { catalog } = pinTools(found, { policy: HOLD, approved: [tool('a'), tool('b')] })
  assert.deepEqual(served(catalog), ['b'])
  assert.deepEqual(
    catalog.held?.tools.map(({ definition, change }) => [definition.name, change]),
    [
      ['a', 'changed'],
      ['c', 'added'],
    ],
  )
  assert.notEqual(catalog.digest, found.digest)
  assert.deepEqual(withHeld(catalog), found)
  assert.deepEqual(serverCatalogOf(JSON.parse(JSON.stringify(catalog))), catalog)
})

test('a removed tool is reported, and nothing is held', () => {
  const found = catalogOf(tool('a'))
  const { catalog, changes } = pinTools(found, { policy: HOLD, approved: [tool('a'), tool('b')] })
  assert.equal(catalog, found)
  assert.deepEqual(changes?.removed, ['b'])
})

test('a digest approves exactly the list that it was made from', () => {
  const found = catalogOf(tool('a', { title: 'x' }))
  const approve = digestOfTools([tool('a', { title: 'x' })])
  const yes = pinTools(found, { policy: HOLD, approved: [tool('a')], approve })
  assert.deepEqual(yes, { catalog: found, approved: [tool('a', { title: 'x' })] })
  const other = catalogOf(tool('a', { title: 'y' }))
  assert.deepEqual(served(pinTools(other, { policy: HOLD, approved: [tool('a')], approve }).catalog), [])
})

test('changes of tools that the manifest hides are not reported, and stay unapproved', () => {
  const policy = { ...HOLD, deny: ['secret_*'] }
  const found = catalogOf(tool('a'), tool('secret_x'))
  const { catalog, changes, approved } = pinTools(found, { policy, approved: [tool('a')] })
  assert.equal(changes, undefined)
  assert.deepEqual(served(catalog), ['a'])
  assert.deepEqual(approved, [tool('a')])
})

test('messages name a few tools and reveal hidden characters in names; the status names fifty', () => {
  const many = Array.from({ length: 60 }, (_, at) => tool(`t${String(at).padStart(2, '0')}`))
  const changes = changesOf([tool('old')], [...many, tool('z\u200B')])
  assert.ok(changes)
  assert.equal(
    changesLine(changes),
    '61 new: t00, t01, t02, t03, t04, t05, t06, t07, and 53 more; 1 gone: old',
  )
  assert.equal(changesForStatus(changes).added.length, 50)
  assert.equal(
    changesLine({ ...changes, added: ['z\u200B'], removed: [] }),
    '1 new: z⟨U+200B zero width space⟩',
  )
})
