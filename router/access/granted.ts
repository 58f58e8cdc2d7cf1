/** What of a catalog a caller may use, and by which rules, for `portolan access`. Pure. */
import type { AccessRule } from '../../core/catalog/access-config.ts'
import type { RouterServer } from '../../core/catalog/router-config.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { ServerPart } from '../catalog/server-part.ts'
import { type Granted, grantsAlone, NO_RULES, rulesFor, scopesFor, sees, type View, viewOf } from './view.ts'

export type GrantedServer = {
  server: string
  tools: GrantedItem[]
  resources: GrantedItem[]
  prompts: GrantedItem[]
  /** Why its lists are not known; absent if they are. */
  unknown?: string
}

/** `rules`: names of those that grant it; empty if the gateway has none. `needs`: scopes without which it is visible but cannot be called. */
export type GrantedItem = { name: string; rules: string[]; needs?: string[] }

/** By server, in the order of the config. Servers of which nothing is granted are left out. */
export function grantedTo({ config, parts }: Catalog, identity: Identity): GrantedServer[] {
  const view = viewOf(config.access, identity)
  return config.servers.flatMap(server => {
    const part = parts.find(one => one.server === server.name)
    if (part) return grantedOf(server, part, view, identity)
    const isGranted = !view || rulesFor(view, server).length > 0
    const unknown = server.status.message ?? server.status.reason ?? 'it has no list yet'
    return isGranted ? [{ server: server.name, tools: [], resources: [], prompts: [], unknown }] : []
  })
}

function grantedOf(
  server: RouterServer,
  part: ServerPart,
  view: View | undefined,
  identity: Identity,
): GrantedServer[] {
  const item = (name: string, granted: Granted): GrantedItem[] => {
    if (!view) return [{ name, rules: [] }]
    if (!sees(view, server, granted)) return []
    const rules = rulesOf(view).filter(rule => grantsAlone(view, rule, server, granted))
    const needs = scopesFor(view, identity, server, granted)
    return [
      {
        name,
        rules: rules.flatMap(({ name }) => (name === NO_RULES ? [] : [name])),
        ...(needs.length > 0 && { needs: [...needs] }),
      },
    ]
  }
  const found = {
    server: server.name,
    tools: part.tools.flatMap(({ tool, definition }) => item(tool, { tool: definition })),
    resources: [...part.resources, ...part.templates].flatMap(({ uri }) => item(uri, { uri })),
    prompts: part.prompts.flatMap(({ prompt }) => item(prompt, { prompt })),
  }
  return found.tools.length + found.resources.length + found.prompts.length === 0 ? [] : [found]
}

function rulesOf({ granting, challenging }: View): AccessRule[] {
  return [...granting, ...challenging]
}
