/** A tool with one part of its schema in place of the whole, as a query such as `server:tool#/properties/filter` asks for it. Pure. */
import { isObject } from '../../../core/json.ts'
import { type Catalog, isShown } from '../../catalog/catalog.ts'
import { tokensOfCut } from '../../catalog/estimate.ts'
import type { ToolRoute } from '../../catalog/server-part.ts'
import type { Refusal } from '../answers.ts'
import { quote } from '../sentences.ts'
import { shorten } from '../shorten.ts'
import { parsePartQuery, schemaPart } from './pointer.ts'

const LONGEST_DESCRIPTION = 100
const LONGEST_LIST = 400

/** Undefined where the query asks for no part of a known tool. */
export function findPart(catalog: Catalog, query: string): ToolRoute | Refusal | undefined {
  const asked = catalog.toolByName.has(query) ? undefined : parsePartQuery(query)
  const tool = asked && catalog.toolByName.get(asked.path)
  return tool && isShown(catalog, tool.server) ? partOfTool(tool, asked.pointer) : undefined
}

/** Of a pointer that leads nowhere the refusal names the properties that there are. */
export function partOfTool(tool: ToolRoute, pointer: string): ToolRoute | Refusal {
  const { inputSchema, description = '' } = tool.definition
  const part = schemaPart(inputSchema, pointer)
  if (!part) {
    const { properties } = inputSchema
    const names = isObject(properties) ? Object.keys(properties).join(', ') : 'no properties'
    return {
      refusal: `There is no part ${quote(pointer)} in the input_schema of ${tool.path}. It has: ${shorten(names, LONGEST_LIST)}.`,
      outcome: 'rejected',
      tool: tool.tool,
    }
  }
  const whole = { length: JSON.stringify(inputSchema).length, tokens: tool.schemaTokens }
  const short = shorten(description, LONGEST_DESCRIPTION)
  return {
    ...tool,
    definition: { ...tool.definition, description: short, inputSchema: part },
    descriptionTokens: tokensOfCut(short, { length: description.length, tokens: tool.descriptionTokens }),
    schemaTokens: tokensOfCut(JSON.stringify(part), whole),
  }
}
