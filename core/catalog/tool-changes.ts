/** What changed in a server's tools since they were approved. Pure. */
import { hash } from 'node:crypto'
import { canonicalJson } from '../json.ts'
import { shownName } from './hidden-text.ts'
import type { ServerCatalog, ToolDefinition } from './server-catalog.ts'

/** Names of tools, sorted. */
export type ToolChanges = {
  /** Digest of all definitions as they are now: approving it approves exactly these. */
  digest: string
  changed: string[]
  added: string[]
  removed: string[]
}

/** Limits of names in a sentence, and in a list of the status. */
const MAX_IN_LINE = 8
export const MAX_IN_STATUS = 50

/** The changes in words, such as `1 changed: read; 2 new: a, b`; hidden characters in names are visible. */
export function changesLine({ changed, added, removed }: ToolChanges): string {
  const kinds = [
    ['changed', changed],
    ['new', added],
    ['gone', removed],
  ] as const
  return kinds
    .filter(([, names]) => names.length > 0)
    .map(([kind, names]) => `${names.length} ${kind}: ${someOf(names)}`)
    .join('; ')
}

/** The changes as a status reports them: names with visible characters, at most 50 of each kind. */
export function changesForStatus({ digest, ...names }: ToolChanges): ToolChanges {
  const firstOf = (list: string[]) => list.slice(0, MAX_IN_STATUS).map(shownName)
  return {
    digest,
    changed: firstOf(names.changed),
    added: firstOf(names.added),
    removed: firstOf(names.removed),
  }
}

function someOf(names: readonly string[]): string {
  const more = names.length - MAX_IN_LINE
  const shown = names.slice(0, MAX_IN_LINE).map(shownName)
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}

/** The definitions of a catalog's tools, which are compared and approved. */
export function definitionsOf({ tools }: Pick<ServerCatalog, 'tools'>): ToolDefinition[] {
  return tools.map(({ definition }) => definition)
}

/** The value that approves definitions: sha256 (hex) of them all, in the order of their names. */
export function digestOfTools(tools: readonly ToolDefinition[]): string {
  return hash('sha256', canonicalJson(tools.toSorted(byName)), 'hex')
}

/** Compares whole definitions: every field of them may reach an agent. Undefined if nothing changed. */
export function changesOf(
  approved: readonly ToolDefinition[],
  found: readonly ToolDefinition[],
): ToolChanges | undefined {
  const before = new Map(approved.map(tool => [tool.name, tool]))
  const now = new Set(found.map(({ name }) => name))
  const known = found.filter(({ name }) => before.has(name))
  const changed = namesOf(known.filter(tool => !isSame(before.get(tool.name), tool)))
  const added = namesOf(found.filter(({ name }) => !before.has(name)))
  const removed = namesOf(approved.filter(({ name }) => !now.has(name)))
  const none = changed.length + added.length + removed.length === 0
  return none ? undefined : { digest: digestOfTools(found), changed, added, removed }
}

function isSame(a: ToolDefinition | undefined, b: ToolDefinition): boolean {
  // Servers usually repeat their lists exactly. Sorting the keys takes several times as long as comparing the text.
  return JSON.stringify(a) === JSON.stringify(b) || canonicalJson(a) === canonicalJson(b)
}

function namesOf(tools: readonly ToolDefinition[]): string[] {
  return tools.map(({ name }) => name).sort()
}

function byName(a: ToolDefinition, b: ToolDefinition): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0
}
