/** What changed in a server's tools since they were approved, field by field and word by word. Pure. */
import { reveal } from '../hidden-characters.ts'
import { isObject, type JsonValue } from '../json.ts'
import type { ToolDefinition } from './server-catalog.ts'
import { changesOf } from './tool-changes.ts'
import { diffWords, type Piece } from './word-diff.ts'

/** Strings that look like a number, another JSON literal, or an empty object or list. */
const LIKE_A_VALUE = /^(?:[-+.\deE]*|true|false|null|\{\}|\[\])$/

export type ToolDiff = { tool: string; kind: 'changed' | 'new' | 'gone'; fields: FieldDiff[] }

/** `path`: of a field in the definition, such as `inputSchema.properties.path.type`. */
export type FieldDiff = { path: string; pieces: Piece[] }

/** Changed tools first, then new ones, then those that are gone, which have no fields. Hidden characters are visible. */
export function diffTools(approved: readonly ToolDefinition[], found: readonly ToolDefinition[]): ToolDiff[] {
  const changes = changesOf(approved, found)
  if (!changes) return []
  const before = new Map(approved.map(tool => [tool.name, tool]))
  const now = new Map(found.map(tool => [tool.name, tool]))
  return [
    ...changes.changed.map(name => diff('changed', name, before.get(name), now.get(name))),
    ...changes.added.map(name => diff('new', name, undefined, now.get(name))),
    ...changes.removed.map(name => diff('gone', name, undefined, undefined)),
  ]
}

function diff(
  kind: ToolDiff['kind'],
  name: string,
  old: ToolDefinition | undefined,
  current: ToolDefinition | undefined,
): ToolDiff {
  const before = leavesOf(old)
  const after = leavesOf(current)
  const paths = [...new Set([...before.keys(), ...after.keys()])]
  const fields = paths
    .filter(path => before.get(path) !== after.get(path) && path !== 'name')
    .map(path => ({
      path: onOneLine(path),
      pieces: diffWords(before.get(path) ?? '', after.get(path) ?? ''),
    }))
  return { tool: onOneLine(name), kind, fields }
}

/** The values of a definition by their paths, as texts with visible characters. */
function leavesOf(definition: ToolDefinition | undefined): Map<string, string> {
  const leaves = new Map<string, string>()
  const visit = (path: string, value: JsonValue | undefined): void => {
    if (value === undefined) return
    const inner = isObject(value) || Array.isArray(value) ? Object.entries(value) : []
    if (inner.length === 0) leaves.set(path, textOf(value))
    for (const [key, child] of inner) visit(path === '' ? key : `${path}.${key}`, child)
  }
  if (definition) visit('', definition)
  return leaves
}

/** The text of a value without inner ones. A string that could be taken for another kind of value is quoted. */
function textOf(value: JsonValue): string {
  if (typeof value !== 'string' || LIKE_A_VALUE.test(value)) return JSON.stringify(value)
  return reveal(value)
}

/** A name or a path in one onOneLine. */
function onOneLine(text: string): string {
  return reveal(text).replace(/\s+/g, ' ')
}
