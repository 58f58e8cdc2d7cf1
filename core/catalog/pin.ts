/** Compares a server's tools with the approved ones, and holds back what changed if its manifest says so (`tools.pin: Hold`). Pure. */
import { hash } from 'node:crypto'
import { isAllowed } from './policy.ts'
import type { ToolPolicy } from './router-config.ts'
import type { CatalogTool, HeldTool, ServerCatalog, ToolDefinition } from './server-catalog.ts'
import { changesOf, definitionsOf, type ToolChanges } from './tool-changes.ts'

export type PinInput = {
  policy: Pick<ToolPolicy, 'pin' | 'allow' | 'deny'>
  /** What was approved; undefined before the first approval. */
  approved: readonly ToolDefinition[] | undefined
  /** The digest of all definitions (`ToolChanges.digest`) that the user approves, if any. */
  approve?: string
}

export type Pinned = {
  /** What is served. */
  catalog: ServerCatalog
  /** What is approved now: the same array as before if nothing was approved. */
  approved: readonly ToolDefinition[] | undefined
  /** What waits for approval, of the tools that the manifest offers. */
  changes?: ToolChanges
}

/**
 * The first list with tools is approved as it is; later changes wait for an approval. `found`: the catalog as discovered, none of its tools held
 * back yet.
 */
export function pinTools(found: ServerCatalog, { policy, approved: before, approve }: PinInput): Pinned {
  if (policy.pin === undefined) return { catalog: found, approved: before }
  const tools = definitionsOf(found)
  const approved = before ?? (tools.length > 0 ? tools : undefined)
  if (approved === undefined) return { catalog: found, approved }
  const all = changesOf(approved, tools)
  if (all === undefined) return { catalog: found, approved }
  if (approve === all.digest) return { catalog: found, approved: tools }
  const changes = ofOffered(all, policy)
  return { catalog: policy.pin === 'Hold' ? hold(found, all) : found, approved, ...(changes && { changes }) }
}

/** Undoes the holding back: the catalog as it was found, which `pinTools` expects. */
export function withHeld(catalog: ServerCatalog): ServerCatalog {
  const { held, ...rest } = catalog
  if (!held) return catalog
  const tools = [...catalog.tools, ...held.tools.map(({ change: _, ...tool }) => tool)].sort(byName)
  return { ...rest, tools, digest: held.foundDigest }
}

function hold(found: ServerCatalog, { changed, added }: ToolChanges): ServerCatalog {
  const changes = new Map<string, HeldTool['change']>([
    ...changed.map(name => [name, 'changed'] as const),
    ...added.map(name => [name, 'added'] as const),
  ])
  if (changes.size === 0) return found
  const tools: CatalogTool[] = []
  const held: HeldTool[] = []
  for (const tool of found.tools) {
    const change = changes.get(tool.definition.name)
    if (change) held.push({ ...tool, change })
    else tools.push(tool)
  }
  const heldChanges = held.map(({ definition, change }) => [definition.name, change])
  const digest = hash('sha256', JSON.stringify([found.digest, heldChanges]), 'hex')
  return { ...found, tools, held: { foundDigest: found.digest, tools: held }, digest }
}

/** The changes of tools that the manifest offers; undefined if there are none. */
function ofOffered(changes: ToolChanges, policy: PinInput['policy']): ToolChanges | undefined {
  const offered = (names: string[]) => names.filter(name => isAllowed({ ...policy, overrides: {} }, name))
  const [changed, added, removed] = [changes.changed, changes.added, changes.removed].map(offered)
  if (!changed?.length && !added?.length && !removed?.length) return undefined
  return { ...changes, changed: changed ?? [], added: added ?? [], removed: removed ?? [] }
}

function byName(a: CatalogTool, b: CatalogTool): number {
  return a.definition.name < b.definition.name ? -1 : a.definition.name > b.definition.name ? 1 : 0
}
