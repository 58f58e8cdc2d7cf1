/** Reviewed scripts as the tools of one more server, so that they are found, listed, granted and called as any tool. Pure. */
import { hash } from 'node:crypto'
import {
  type RouterConfig,
  type RouterScript,
  type RouterServer,
  SCRIPTS,
} from '../../core/catalog/router-config.ts'
import type { CatalogTool, ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { canonicalJson } from '../../core/json.ts'
import type { Snapshot } from '../source/source.ts'
import type { Catalog } from './catalog.ts'
import { estimateTokens } from './estimate.ts'

/** The snapshot with its scripts as a server, if it has scripts and runs them. */
export function withScripts(snapshot: Snapshot): Snapshot {
  const { config, catalogs } = snapshot
  const { code, scripts = [] } = config
  const isTaken = config.servers.some(({ name }) => name === SCRIPTS)
  if (!code || scripts.length === 0 || isTaken) return snapshot
  const servers = [...config.servers, scriptServer(config, scripts)]
  return {
    ...snapshot,
    config: { ...config, servers: servers.toSorted((a, b) => (a.name < b.name ? -1 : 1)) },
    catalogs: new Map([...catalogs, [SCRIPTS, scriptCatalog(scripts)]]),
  }
}

/** The inverse, with only those scripts that the catalog offers. */
export function withoutScripts<Given extends Pick<Catalog, 'config' | 'catalogs'>>(given: Given): Given {
  const { config, catalogs } = given
  const { scripts = [] } = config
  if (scripts.length === 0) return given
  const names = new Set(catalogs.get(SCRIPTS)?.tools.map(({ definition }) => definition.name))
  return {
    ...given,
    config: {
      ...config,
      servers: config.servers.filter(({ endpoint }) => endpoint.kind !== 'scripts'),
      scripts: scripts.filter(({ name }) => names.has(name)),
    },
    catalogs: new Map([...catalogs].filter(([server]) => server !== SCRIPTS)),
  }
}

function scriptServer({ gateway, code }: RouterConfig, scripts: readonly RouterScript[]): RouterServer {
  const overrides = scripts.map(({ name, keywords, category, readOnly }) => [
    name,
    { keywords, ...(category !== undefined && { category }), readOnly },
  ])
  return {
    name: SCRIPTS,
    namespace: gateway.namespace,
    title: 'Scripts',
    description: 'Reviewed scripts, each of which calls tools of several servers',
    keywords: [],
    transport: 'script',
    endpoint: { kind: 'scripts', revision: '' },
    sessions: 'shared',
    tools: { allow: ['*'], deny: [], overrides: Object.fromEntries(overrides) },
    limits: {
      callTimeoutMs: code?.limits.timeoutMs ?? 0,
      startTimeoutMs: 0,
      concurrency: code?.limits.scripts ?? 0,
      maxResultBytes: code?.limits.resultBytes ?? 0,
    },
    logging: { requests: true, payloads: 'none' },
    status: { state: 'ready', hidden: false },
  }
}

function scriptCatalog(scripts: readonly RouterScript[]): ServerCatalog {
  const tools = scripts.map(scriptTool)
  const definitions = tools.map(({ definition }) => definition)
  return {
    server: SCRIPTS,
    protocol: '2026-07-28',
    capabilities: { tools: {} },
    tools,
    invalid: [],
    resources: [],
    resourceTemplates: [],
    prompts: [],
    incomplete: [],
    digest: hash('sha256', canonicalJson(definitions)),
  }
}

function scriptTool({ name, title, description, inputSchema, readOnly }: RouterScript): CatalogTool {
  const definition = {
    name,
    ...(title !== undefined && { title }),
    description,
    inputSchema,
    ...(readOnly && { annotations: { readOnlyHint: true } }),
  }
  const counted = JSON.stringify({ name, description, inputSchema })
  return {
    definition,
    tokens: estimateTokens(counted),
    descriptionTokens: estimateTokens(description),
    schemaTokens: estimateTokens(JSON.stringify(inputSchema)),
  }
}
