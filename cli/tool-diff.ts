/** Shows what changed in a server's tools, field by field and word by word, with hidden characters made visible. Pure. */
import type { ToolDefinition } from '../core/catalog/server-catalog.ts'
import { changesOf } from '../core/catalog/tool-changes.ts'
import { reveal } from '../core/hidden-characters.ts'
import { isObject, type JsonValue } from '../core/json.ts'
import type { Colors } from './output.ts'
import { diffWords, type Piece } from './word-diff.ts'

/** Unchanged text is cut to so many characters around a change. What changed is always shown whole. */
const CONTEXT = 60
const LIKE_A_VALUE = /^(?:[-+.\deE]*|true|false|null|\{\}|\[\])$/

/** Without colours too: `[-removed-]` and `{+added+}`. Empty if nothing changed. */
export function toolDiff(
  approved: readonly ToolDefinition[],
  found: readonly ToolDefinition[],
  colors: Colors,
): string {
  const changes = changesOf(approved, found)
  if (!changes) return ''
  const before = new Map(approved.map(tool => [tool.name, tool]))
  const now = new Map(found.map(tool => [tool.name, tool]))
  const parts = [
    ...changes.changed.map(name => ['changed', name, before.get(name), now.get(name)] as const),
    ...changes.added.map(name => ['new', name, undefined, now.get(name)] as const),
    ...changes.removed.map(name => ['gone', name, undefined, undefined] as const),
  ]
  return parts
    .map(([kind, name, old, fresh]) =>
      [`${colors.bold(line(name))} (${kind})`, ...fieldLines(old, fresh, colors)].join('\n'),
    )
    .join('\n\n')
}

function fieldLines(
  old: ToolDefinition | undefined,
  fresh: ToolDefinition | undefined,
  colors: Colors,
): string[] {
  const before = leavesOf(old)
  const after = leavesOf(fresh)
  const paths = [...new Set([...before.keys(), ...after.keys()])]
  return paths
    .filter(path => before.get(path) !== after.get(path) && path !== 'name')
    .map(
      path => `  ${line(path)}: ${shown(diffWords(before.get(path) ?? '', after.get(path) ?? ''), colors)}`,
    )
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

/** A string that could be taken for another value is quoted. */
function textOf(value: JsonValue): string {
  if (typeof value !== 'string' || LIKE_A_VALUE.test(value)) return JSON.stringify(value)
  return reveal(value)
}

function shown(pieces: readonly Piece[], colors: Colors): string {
  return pieces
    .map(({ kind, text }, at) => {
      if (kind === 'removed') return colors.red(`[-${indented(text)}-]`)
      if (kind === 'added') return colors.green(`{+${indented(text)}+}`)
      return indented(context(text, at === 0, at === pieces.length - 1))
    })
    .join('')
}

function context(text: string, isFirst: boolean, isLast: boolean): string {
  const most = (isFirst ? 0 : CONTEXT) + (isLast ? 0 : CONTEXT)
  if (text.length <= most) return text
  return `${isFirst ? '' : text.slice(0, CONTEXT)}…${isLast ? '' : text.slice(-CONTEXT)}`
}

/** Line breaks of the text must not look like lines of ours. */
function indented(text: string): string {
  return text.replace(/\r\n|[\r\n\u0085\u2028\u2029]/g, '⏎\n    | ')
}

/** A name or a path in one line. */
function line(text: string): string {
  return reveal(text).replace(/\s+/g, ' ')
}
