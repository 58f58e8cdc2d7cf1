/** When the digest changes by which pages of the console notice that their lists are out of date. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import { drive, type FixtureServer, snapshotOf } from '../../test/meta/fixture.ts'
import { buildCatalog, type Catalog } from '../catalog/catalog.ts'
import { createCatalogDigest } from './catalog-digest.ts'

const TOOL = { name: 'read', description: 'Reads a file', inputSchema: { type: 'object' } }
const HELD = {
  definition: TOOL,
  tokens: 1,
  descriptionTokens: 1,
  schemaTokens: 1,
  change: 'changed' as const,
}
const RESOURCE = { name: 'Log', uri: 'file:///log' }
const TEMPLATE = { name: 'Any', uriTemplate: 'file:///{name}' }
const PROMPT = { name: 'tidy', description: 'Tidies up' }
const OFFERS = { tools: [TOOL], resources: [RESOURCE], resourceTemplates: [TEMPLATE], prompts: [PROMPT] }
const POLICY = { allow: ['*'], deny: [], overrides: {} }
const NO_CHANGE = { offers: OFFERS }

type Changed = {
  offers?: FixtureServer['offers']
  server?: FixtureServer['server']
  config?: Partial<RouterConfig>
}

function catalogWith(changed: Changed, generation = 1, previous?: Catalog): Catalog {
  const { offers = OFFERS, server, config = {} } = changed
  return drive(buildCatalog(snapshotOf({ files: { offers, server } }, config, generation), previous))
}

test('everything that a page lists or searches changes the digest', () => {
  const offered = (offers: FixtureServer['offers']): Changed => ({ offers: { ...OFFERS, ...offers } })
  const overridden = (override: object): Changed => ({
    server: { tools: { ...POLICY, overrides: { read: override } } },
  })
  const changes: Record<string, Changed> = {
    none: NO_CHANGE,
    renamed: offered({ tools: [{ ...TOOL, name: 'load' }] }),
    'described anew': offered({ tools: [{ ...TOOL, description: 'Reads a line' }] }),
    'other arguments': offered({ tools: [{ ...TOOL, inputSchema: { type: 'object', required: ['path'] } }] }),
    annotated: offered({ tools: [{ ...TOOL, annotations: { readOnlyHint: true } }] }),
    held: offered({ tools: [], held: { tools: [HELD], foundDigest: '' } }),
    resource: offered({ resources: [{ ...RESOURCE, name: 'Journal' }] }),
    template: offered({ resourceTemplates: [{ ...TEMPLATE, name: 'Each' }] }),
    prompt: offered({ prompts: [{ ...PROMPT, description: 'Cleans up' }] }),
    subscribable: offered({ capabilities: { resources: { subscribe: true } } }),
    instructions: offered({ instructions: 'Read first' }),
    'description of the manifest': overridden({ description: 'Reads all' }),
    'keywords of the manifest': overridden({ keywords: ['cat'] }),
    'category of the manifest': overridden({ category: 'disk' }),
    'category of the server': { server: { category: 'disk' } },
    hidden: { server: { status: { state: 'failed', hidden: true } } },
    profile: { config: { profile: 'direct' } },
    budget: { config: { budget: { definitionTokens: 5_000, activeTools: 10, responseTokens: 600 } } },
  }
  const digestOf = createCatalogDigest()
  const names = new Map<string, string>()
  for (const [name, changed] of Object.entries(changes)) {
    const digest = digestOf(catalogWith(changed))
    assert.equal(names.get(digest), undefined, name)
    names.set(digest, name)
  }
})

test('replicas that number the same catalog differently give the same digest, whatever the server does', () => {
  const digest = createCatalogDigest()(catalogWith(NO_CHANGE))
  assert.match(digest, /^[0-9a-f]{32}$/)
  const busy = { ...NO_CHANGE, server: { status: { state: 'starting' as const, hidden: false } } }
  assert.equal(createCatalogDigest()(catalogWith(busy, 7)), digest)
})

test('while a tool is held the digest is another one, and afterwards the first one again', () => {
  const digestOf = createCatalogDigest()
  const held = { ...OFFERS, tools: [], held: { tools: [HELD], foundDigest: '' } }
  const first = catalogWith(NO_CHANGE)
  const second = catalogWith({ offers: held }, 2, first)
  const third = catalogWith(NO_CHANGE, 3, second)
  assert.notEqual(digestOf(second), digestOf(first))
  assert.equal(digestOf(third), digestOf(first))
})
