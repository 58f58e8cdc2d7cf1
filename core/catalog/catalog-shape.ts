/** Whether a value that was read has the shape of a server catalog, as far as the code that uses it relies on it. Pure. */
import { isObject } from '../json.ts'
import type { ServerCatalog } from './server-catalog.ts'

/** As strict as its readers need: the value is our own, but may be cut off or of another time. */
export function isServerCatalog(value: unknown): value is ServerCatalog {
  if (!isObject(value) || !isObject(value.capabilities)) return false
  const { tools, invalid, resources, resourceTemplates, prompts, incomplete } = value
  return (
    typeof value.server === 'string' &&
    typeof value.protocol === 'string' &&
    typeof value.digest === 'string' &&
    Array.isArray(tools) &&
    tools.every(isTool) &&
    [invalid, resources, resourceTemplates, prompts, incomplete].every(
      list => Array.isArray(list) && list.every(isObject),
    )
  )
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
