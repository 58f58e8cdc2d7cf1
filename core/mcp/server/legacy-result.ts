/** Removes the members that only 2026-07-28 defines from a result for a 2025 caller; the other text is unchanged. Pure. */
import { isObject, type JsonObject } from '../../json.ts'
import { sliceJson } from '../../json-slice.ts'
import { META_SERVER_INFO } from '../protocol/revisions.ts'

/** Members of a result that 2026-07-28 added; the last two are on lists and read resources. */
const ADDED: ReadonlySet<string> = new Set(['resultType', 'ttlMs', 'cacheScope'])
const ADDED_META: ReadonlySet<string> = new Set([META_SERVER_INFO])

/**
 * The JSON text of a result for a caller of the 2025 era. `text`: the JSON text as the server sent it, if it was kept. Only a result with
 * `resultType` or server info in `_meta` is of the 2026 era and rewritten; without these, `ttlMs` is a field that the server itself defines.
 */
export function legacyText(result: JsonObject, text: string | undefined): string {
  const meta = isObject(result._meta) ? result._meta : undefined
  const isStamped = meta !== undefined && META_SERVER_INFO in meta
  if (result.resultType === undefined && !isStamped) return text ?? JSON.stringify(result)
  const members = membersOf(result, text, ADDED)
  if (meta && isStamped) {
    const others = membersOf(meta, text && sliceJson(text, ['_meta']), ADDED_META)
    members.delete('_meta')
    if (others.size > 0) members.set('_meta', objectText(others))
  }
  return objectText(members)
}

/** The JSON text of each member by name, except those in `without`. `text`: that of the object, if it was kept. */
function membersOf(
  object: JsonObject,
  text: string | undefined,
  without: ReadonlySet<string>,
): Map<string, string> {
  const names = Object.keys(object).filter(name => !without.has(name))
  const textOf = (name: string) => (text === undefined ? undefined : sliceJson(text, [name]))
  return new Map(names.map(name => [name, textOf(name) ?? JSON.stringify(object[name])]))
}

function objectText(members: ReadonlyMap<string, string>): string {
  return `{${Array.from(members, ([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`
}
