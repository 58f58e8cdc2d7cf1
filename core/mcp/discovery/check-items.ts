/** Separates valid items of a list from invalid ones, so that an invalid item does not invalidate the list. Pure. */

import { isDeeper } from '../../../crds/depth.ts'
import type { InvalidItem, ToolDefinition } from '../../catalog/server-catalog.ts'
import { compare } from '../../compare.ts'
import { cut } from '../../cut.ts'
import { isObject, type JsonObject, type JsonValue } from '../../json.ts'
import { wrongParamHeader } from '../protocol/param-headers.ts'
import type { Era } from '../protocol/revisions.ts'
import { MAX_URI_CHARACTERS } from '../protocol/uri-limits.ts'

export const MAX_NAME_CHARACTERS = 256
export const MAX_ITEM_CHARACTERS = 256 * 1024
export const MAX_DEPTH = 64

/** The valid tools, sorted by name, and the invalid ones with the reason. The first of equal names wins. */
export function checkTools(
  items: readonly JsonValue[],
  era: Era = 'legacy',
): { tools: ToolDefinition[]; invalid: InvalidItem[] } {
  const tools = new Map<string, ToolDefinition>()
  const invalid: InvalidItem[] = []
  for (const item of items) {
    const name = isObject(item) && typeof item.name === 'string' ? item.name : undefined
    const reason =
      toolReason(item, era) ?? (tools.has(name ?? '') ? 'duplicate name: the first one is used' : undefined)
    if (reason === undefined) tools.set(name ?? '', toolOf(item as JsonObject & { name: string }))
    else invalid.push({ ...(name === undefined ? {} : { name: cut(name, MAX_NAME_CHARACTERS) }), reason })
  }
  return { tools: [...tools.values()].sort((a, b) => compare(a.name, b.name)), invalid }
}

function toolReason(item: JsonValue, era: Era): string | undefined {
  if (!isObject(item)) return 'not an object'
  const reason = keyReason(item, 'name', MAX_NAME_CHARACTERS) ?? sizeReason(item)
  if (reason) return reason
  if (item.inputSchema === undefined) return undefined
  if (!isObject(item.inputSchema)) return 'inputSchema is not an object'
  // Only 2026 servers require clients to follow the markers.
  return era === 'modern' ? wrongParamHeader(item.inputSchema) : undefined
}

function toolOf(item: JsonObject & { name: string }): ToolDefinition {
  const { description, ...rest } = item
  const inputSchema = isObject(item.inputSchema) ? item.inputSchema : { type: 'object' }
  return typeof description === 'string'
    ? { ...item, description, inputSchema }
    : { ...rest, name: item.name, inputSchema }
}

export type ItemKey = 'uri' | 'uriTemplate' | 'name'
export type ItemWith<Key extends ItemKey> = JsonObject & Record<Key, string>

/** Valid resources, templates or prompts, sorted by key, without duplicates; `left` counts the others. */
export function checkItems<Key extends ItemKey>(
  items: readonly JsonValue[],
  key: Key,
): { items: ItemWith<Key>[]; left: number; reason?: string } {
  const good = new Map<string, ItemWith<Key>>()
  let left = 0
  let reason: string | undefined
  for (const item of items) {
    const wrong = itemReason(item, key)
    if (wrong === undefined && hasKey(item, key) && !good.has(item[key])) good.set(item[key], item)
    else {
      left++
      reason ??= wrong ?? `duplicate ${key}`
    }
  }
  const sorted = [...good.entries()].sort(([a], [b]) => compare(a, b)).map(([, item]) => item)
  return { items: sorted, left, reason }
}

function itemReason(item: JsonValue, key: ItemKey): string | undefined {
  return isObject(item) ? (keyReason(item, key, MAX_URI_CHARACTERS) ?? sizeReason(item)) : 'not an object'
}

function hasKey<Key extends ItemKey>(item: JsonValue, key: Key): item is ItemWith<Key> {
  return isObject(item) && typeof item[key] === 'string'
}

function keyReason(item: JsonObject, key: string, max: number): string | undefined {
  const value = item[key]
  if (value === undefined) return `no ${key}`
  if (typeof value !== 'string') return `${key} is not a string`
  if (value === '') return `${key} is empty`
  return value.length > max ? `${key} is longer than ${max} characters` : undefined
}

function sizeReason(item: JsonObject): string | undefined {
  if (tooDeep(item)) return `nested deeper than ${MAX_DEPTH} levels`
  return JSON.stringify(item).length > MAX_ITEM_CHARACTERS
    ? `larger than ${MAX_ITEM_CHARACTERS} characters`
    : undefined
}

/** Whether a value is nested deeper than MAX_DEPTH. */
export function tooDeep(value: JsonValue | undefined): boolean {
  return isDeeper(value, MAX_DEPTH)
}
