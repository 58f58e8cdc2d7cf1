/** Checks that a value read from a cache or ConfigMap has the shape of a server catalog. Pure. */
import { isObject } from '../json.ts'
import type { CatalogVectors, ServerCatalog } from './server-catalog.ts'
import { unpackVectors } from './vectors.ts'

/** The catalog, without its vectors if they are invalid; undefined if the value is not a catalog. */
export function serverCatalogOf(value: unknown): ServerCatalog | undefined {
  if (!isServerCatalog(value)) return undefined
  if (value.vectors === undefined || areVectors(value.vectors)) return value
  const { vectors: _, ...catalog } = value
  return catalog
}

/** As strict as its readers need: we wrote the value, but it may be truncated or of another version. */
function isServerCatalog(value: unknown): value is ServerCatalog {
  if (!isObject(value) || !isObject(value.capabilities)) return false
  const { tools, invalid, resources, resourceTemplates, prompts, incomplete, held } = value
  return (
    typeof value.server === 'string' &&
    typeof value.protocol === 'string' &&
    typeof value.digest === 'string' &&
    Array.isArray(tools) &&
    tools.every(isTool) &&
    (held === undefined || isHeld(held)) &&
    [invalid, incomplete].every(list => Array.isArray(list) && list.every(isObject)) &&
    isListBy('uri', resources) &&
    isListBy('uriTemplate', resourceTemplates) &&
    isListBy('name', prompts)
  )
}

function isHeld(held: unknown): boolean {
  return (
    isObject(held) &&
    typeof held.foundDigest === 'string' &&
    Array.isArray(held.tools) &&
    held.tools.every(tool => isTool(tool) && isObject(tool) && typeof tool.change === 'string')
  )
}

function isListBy(key: string, list: unknown): boolean {
  return Array.isArray(list) && list.every(item => isObject(item) && typeof item[key] === 'string')
}

function isTool(tool: unknown): boolean {
  return (
    isObject(tool) &&
    typeof tool.tokens === 'number' &&
    typeof tool.descriptionTokens === 'number' &&
    typeof tool.schemaTokens === 'number' &&
    isObject(tool.definition) &&
    typeof tool.definition.name === 'string' &&
    isObject(tool.definition.inputSchema)
  )
}

function areVectors(value: unknown): value is CatalogVectors {
  if (!isObject(value) || !Array.isArray(value.keys)) return false
  const { encoder, digest, keys, data } = value
  if (![encoder, digest, data, ...keys].every(text => typeof text === 'string')) return false
  try {
    unpackVectors(value as CatalogVectors)
    return true
  } catch {
    return false
  }
}
