/** For tests of views: a gateway with rules, and one that has nothing but the part that they grant, over real catalogs. */
import { systemClock } from '../../core/async.ts'
import { type AccessRule, type Grant, OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import type { Profile } from '../../core/catalog/router-config.ts'
import type { ToolDefinition } from '../../core/catalog/server-catalog.ts'
import { quantize, type Vector } from '../../core/catalog/vectors.ts'
import { prepareDots } from '../../core/encoder/dots.ts'
import type { JsonObject } from '../../core/json.ts'
import { createCaller } from '../../core/mcp/caller.ts'
import type { McpHandler } from '../../core/mcp/server/handler.ts'
import { createAccess } from '../../router/access/access.ts'
import { createLimits } from '../../router/access/limits.ts'
import { buildCatalog, type Catalog, routeOf } from '../../router/catalog/catalog.ts'
import type { SearchDocument } from '../../router/catalog/search/search-index.ts'
import { createVectorTable } from '../../router/catalog/search/vectors.ts'
import { createHandler } from '../../router/meta/handler.ts'
import { ownExtras } from '../search/catalogs.ts'
import { textOf } from '../search/meaning.ts'
import { embed } from '../support/embeddings.ts'
import { defaultCatalogs, readOwn } from '../upstreams/replay/catalogs.ts'
import { createFixture, createWitness, drive, type FixtureServer, snapshotOf } from './fixture.ts'

export type Servers = Record<string, FixtureServer & { offers: NonNullable<FixtureServer['offers']> }>

/** One gateway, asked as an agent asks it. */
export type Asked = {
  ask(profile: Profile, tool: string, args: JsonObject): Promise<string>
  /** What was sent to the encoder, in order. */
  readonly encoded: readonly string[]
}

/** The recorded servers if they are available, and the project's own with their resources, templates and prompts. */
export function realServers(): Servers {
  const own = readOwn().map(catalog => ({ ...catalog, name: `own-${catalog.name}` }))
  const extras = Map.groupBy(ownExtras(), ({ server }) => `own-${server}`)
  const servers = [...defaultCatalogs(), ...own].map(({ name, instructions, tools, serverInfo }) => [
    name,
    {
      server: { category: name.slice(0, 3) },
      offers: {
        instructions,
        serverInfo,
        tools: tools as ToolDefinition[],
        ...extrasOf(extras.get(name) ?? []),
      },
    },
  ])
  return Object.fromEntries(servers)
}

function extrasOf(documents: readonly SearchDocument[]) {
  const some = (kind: SearchDocument['kind']) => documents.filter(document => document.kind === kind)
  const item = ({ tool: name, description }: SearchDocument) => ({ name, description })
  return {
    resources: some('resource').map(document => ({ ...item(document), uri: `${document.uri}` })),
    resourceTemplates: some('template').map(document => ({
      ...item(document),
      uriTemplate: `${document.uri}`,
    })),
    prompts: some('prompt').map(item),
  }
}

/** What rules leave of servers, read from them without the code that is tested. */
export function partOf(servers: Servers, rules: readonly AccessRule[]): Servers {
  const parts = Object.entries(servers).map(([name, { server, offers }]) => {
    const own = rules.filter(rule => rule.servers.includes(name))
    const isIn = (grant: (rule: AccessRule) => Grant, item: string) =>
      own.some(rule => {
        const { allow, deny } = grant(rule)
        // Patterns that deny URIs ignore case.
        const flags = item.includes('://') ? 'i' : ''
        return (
          allow.some(pattern => isLike(pattern, item)) && !deny.some(pattern => isLike(pattern, item, flags))
        )
      })
    const part = {
      ...offers,
      tools: (offers.tools ?? []).filter(tool => isIn(rule => rule.tools, tool.name)),
      prompts: (offers.prompts ?? []).filter(prompt => isIn(rule => rule.prompts, prompt.name)),
      resources: (offers.resources ?? []).filter(({ uri }) => isIn(rule => rule.resources, uri)),
      resourceTemplates: (offers.resourceTemplates ?? []).filter(({ uriTemplate }) =>
        isIn(rule => rule.resources, uriTemplate),
      ),
    }
    return [name, { server, offers: part }] as const
  })
  const isEmpty = ({ tools, prompts, resources, resourceTemplates }: Servers[string]['offers']) =>
    [tools, prompts, resources, resourceTemplates].every(items => items?.length === 0)
  return Object.fromEntries(parts.filter(([, { offers }]) => !isEmpty(offers)))
}

function isLike(pattern: string, name: string, flags = ''): boolean {
  const text = pattern
    .split('*')
    .map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('[^]*')
  return new RegExp(`^${text}$`, flags).test(name)
}

export type Gateways = {
  /** The catalog of everything, restricted by these rules for its callers. */
  whole(rules: readonly AccessRule[]): Asked
  /** A catalog of nothing but the part. */
  part(rules: readonly AccessRule[]): Asked
}

const ALLOWED: Profile[] = ['hierarchical', 'search', 'registry', 'direct']
const CONFIG = { allowedProfiles: ALLOWED }

/** `meaning`: searches by meaning too, with vectors of hashed words; those of some servers are still to come. */
export function createGateways(servers: Servers, meaning: boolean): Gateways {
  const { pool } = createFixture(servers)
  const vectors = new Map<string, Vector>()
  const equip = (catalog: Catalog) => (meaning ? withVectors(catalog, vectors) : catalog)
  const everything = equip(drive(buildCatalog(snapshotOf(servers, CONFIG, 1))))
  let last: Catalog | undefined
  return {
    whole(rules) {
      const access = { ...OPEN_ACCESS, rules: [...rules] }
      return asked({ ...everything, config: { ...everything.config, access } }, pool)
    },
    part(rules) {
      last = drive(buildCatalog(snapshotOf(partOf(servers, rules), CONFIG, 1), last))
      return asked(equip(last), pool)
    },
  }
}

function asked(catalog: Catalog, pool: ReturnType<typeof createFixture>['pool']): Asked {
  const encoded: string[] = []
  const handler = createHandler({
    access: createAccess(),
    limits: createLimits(systemClock),
    current: () => catalog,
    pool,
    observer: createWitness().observer,
    encodeQuery: async text => {
      encoded.push(text)
      return quantize(embed(text))
    },
  })
  return { encoded, ask: (profile, tool, args) => ask(handler, profile, tool, args) }
}

async function ask(handler: McpHandler, profile: Profile, name: string, args: JsonObject): Promise<string> {
  const isList = name.includes('/')
  const answer = await handler.handle({
    id: 1,
    method: isList ? name : 'tools/call',
    params: isList ? args : { name, arguments: args },
    route: { kind: 'gateway', profile },
    caller: createCaller(),
    text: undefined,
  })
  return JSON.stringify(answer)
}

const NOT_YET = /^own-[a-h]/

function withVectors(catalog: Catalog, known: Map<string, Vector>): Catalog {
  const dots = prepareDots()
  const vectorOf = (document: SearchDocument) => {
    if (NOT_YET.test(document.server)) return undefined
    const { full, key } = textOf(document)
    const vector = known.get(key) ?? quantize(embed(full))
    known.set(key, vector)
    return vector
  }
  const tools = catalog.parts.flatMap(({ documents }) => documents)
  const extras = catalog.extras.map(extra => routeOf(extra).document)
  return {
    ...catalog,
    vectors: {
      tools: createVectorTable(tools.map(vectorOf), dots),
      extras: createVectorTable(extras.map(vectorOf), dots),
    },
  }
}
