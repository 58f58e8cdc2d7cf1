/** What changed in a server's tools since they were approved, field by field and word by word. Pure. */
import { reveal } from '../hidden-characters.ts'
import { isObject, type JsonValue } from '../json.ts'
import type { ToolDefinition } from './server-catalog.ts'
import { changesOf } from './tool-changes.ts'
import { type Budget, diffWords, fullBudget, type Piece } from './word-diff.ts'

/** Strings that look like a number, another JSON literal, or an empty object or list. */
const LIKE_A_VALUE = /^(?:[-+.\deE]*|true|false|null|\{\}|\[\])$/
/** Keys that are shown as they are. All others are quoted, so that no key looks like several, or like the number of a list's item. */
const PLAIN_KEY = /^[\p{L}_$@][\p{L}\p{N}\p{M}_$@/-]*$/u

export type ToolDiff = { tool: string; kind: 'changed' | 'new' | 'gone'; fields: FieldDiff[] }

/** `path`: of a field in the definition, such as `inputSchema.properties.path.type` or `inputSchema.properties."a.b".enum.0`. */
export type FieldDiff = { path: string; pieces: Piece[] }

/** Changed tools first, then new ones, then those that are gone, which have no fields. Hidden characters are visible. */
export function diffTools(approved: readonly ToolDefinition[], found: readonly ToolDefinition[]): ToolDiff[] {
  const changes = changesOf(approved, found)
  if (!changes) return []
  const before = new Map(approved.map(tool => [tool.name, tool]))
  const now = new Map(found.map(tool => [tool.name, tool]))
  const budget = fullBudget()
  return [
    ...changes.changed.map(name => diff('changed', name, before.get(name), now.get(name), budget)),
    ...changes.added.map(name => diff('new', name, undefined, now.get(name), budget)),
    ...changes.removed.map(name => diff('gone', name, undefined, undefined, budget)),
  ]
}

function diff(
  kind: ToolDiff['kind'],
  name: string,
  old: ToolDefinition | undefined,
  current: ToolDefinition | undefined,
  budget: Budget,
): ToolDiff {
  const before = leavesOf(old)
  const after = leavesOf(current)
  const fields = [...new Map([...before, ...after])]
    .filter(([key]) => before.get(key)?.json !== after.get(key)?.json)
    .map(([key, { path }]) => ({
      path: shownPath(path),
      pieces: piecesOf(before.get(key)?.text ?? '', after.get(key)?.text ?? '', budget),
    }))
  return { tool: onOneLine(name), kind, fields }
}

/** Values that differ may have the same text, such as a hidden character and its description: they are then shown as a whole. */
function piecesOf(before: string, after: string, budget: Budget): Piece[] {
  if (before !== after) return diffWords(before, after, budget)
  return [
    { kind: 'removed', text: before },
    { kind: 'added', text: after },
  ]
}

type Path = (string | number)[]

/** A value without inner ones: `text` shows it with visible characters, `json` is compared. */
type Leaf = { path: Path; text: string; json: string }

/** The leaves of a definition, besides its name. The keys of the map tell apart all paths, whatever characters are in their steps. */
function leavesOf(definition: ToolDefinition | undefined): Map<string, Leaf> {
  const leaves = new Map<string, Leaf>()
  const visit = (path: Path, value: JsonValue | undefined): void => {
    if (value === undefined) return
    const inner = innerOf(value)
    if (inner.length === 0)
      leaves.set(JSON.stringify(path), { path, text: textOf(value), json: JSON.stringify(value) })
    for (const [step, child] of inner) visit([...path, step], child)
  }
  if (definition) visit([], { ...definition, name: undefined })
  return leaves
}

function innerOf(value: JsonValue): [string | number, JsonValue | undefined][] {
  if (Array.isArray(value)) return [...value.entries()]
  return isObject(value) ? Object.entries(value) : []
}

function shownPath(path: Path): string {
  const steps = path.map(step =>
    typeof step === 'number' || PLAIN_KEY.test(step) ? step : JSON.stringify(step),
  )
  return onOneLine(steps.join('.'))
}

/** The text of a value without inner ones. A string that could be taken for another kind of value is quoted. */
function textOf(value: JsonValue): string {
  if (typeof value !== 'string' || LIKE_A_VALUE.test(value)) return JSON.stringify(value)
  return reveal(value)
}

/** A name or a path in one line. */
function onOneLine(text: string): string {
  return reveal(text).replace(/\s+/g, ' ')
}
