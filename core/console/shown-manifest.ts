/** A manifest as the console shows it: without the values of env and headers, which may be secrets. Pure. */
import { stringify } from 'yaml'
import type { McpServer } from '../../crds/server.ts'
import { isObject, type JsonObject, type JsonValue } from '../json.ts'

const HIDDEN = '(hidden)'
/** Lists of names with values, which may be secrets. */
const WITH_VALUES: ReadonlySet<string> = new Set(['env', 'headers'])
/** Metadata that Kubernetes writes and people do not read. */
const NOISE: ReadonlySet<string> = new Set(['managedFields', 'uid', 'resourceVersion'])

/** The manifest as YAML. References to Secrets keep their names. */
export function shownManifest({ apiVersion, kind, metadata, spec }: McpServer): string {
  const plain: JsonValue = JSON.parse(JSON.stringify({ apiVersion, kind, metadata, spec }))
  return stringify(shown(plain), { lineWidth: 0 })
}

function shown(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(shown)
  if (!isObject(value)) return value
  const kept = Object.entries(value).filter(([key]) => !NOISE.has(key))
  return Object.fromEntries(
    kept.map(([key, inner]) => [
      key,
      WITH_VALUES.has(key) ? withoutValues(inner) : shown(inner as JsonValue),
    ]),
  )
}

function withoutValues(list: JsonValue | undefined): JsonValue {
  if (!Array.isArray(list)) return HIDDEN
  return list.map(item => {
    if (!isObject(item) || item.value === undefined) return item
    return { ...item, value: HIDDEN } satisfies JsonObject
  })
}
