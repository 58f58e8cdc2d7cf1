/** A tool with one part of its schema instead of the whole, as requested by `server:tool#/properties/filter`. Pure. */
import { isObject, type JsonObject } from '../../../core/json.ts'
import { isShown } from '../../catalog/catalog.ts'
import { tokensOfCut } from '../../catalog/estimate.ts'
import { nearestNames } from '../../catalog/search/nearest.ts'
import type { ToolRoute } from '../../catalog/server-part.ts'
import { nearlyTool } from '../calling/find-called.ts'
import type { Work } from '../meta-tool.ts'
import type { Refusal } from '../wording/answers.ts'
import { quote } from '../wording/sentences.ts'
import { shorten } from '../wording/shorten.ts'
import { parsePartQuery, schemaPart } from './pointer.ts'

const MAX_DESCRIPTION_CHARACTERS = 100
const MAX_LIST_CHARACTERS = 400
const MAX_NAMES = 12

/** The tool with the requested part as its schema. Undefined if the query is not about a part of a known tool. */
export function findPart(
  work: Pick<Work, 'catalog' | 'once'>,
  query: string,
): ToolRoute | Refusal | undefined {
  const { catalog } = work
  const asked = catalog.toolByName.has(query) ? undefined : parsePartQuery(query)
  if (!asked) return undefined
  // Words before a "#" are a search, unless a pointer follows.
  const nearly = () => (asked.pointer.startsWith('/') ? nearlyTool(work, asked.path) : undefined)
  const tool = catalog.toolByName.get(asked.path) ?? nearly()
  return tool && isShown(catalog, tool.server) ? partOfTool(tool, asked.pointer) : undefined
}

/** The tool with the part at a JSON pointer as its schema. If the pointer matches nothing, the refusal lists the existing properties. */
export function partOfTool(tool: ToolRoute, pointer: string): ToolRoute | Refusal {
  const { inputSchema, description = '' } = tool.definition
  const part = schemaPart(inputSchema, pointer)
  if (!part) {
    const sentence = `There is no part ${quote(pointer)} in the schema of ${tool.path}.`
    return { refusal: `${sentence} It has: ${namesOf(inputSchema, pointer)}`, outcome: 'rejected' }
  }
  const whole = { length: JSON.stringify(inputSchema).length, tokens: tool.schemaTokens }
  const short = shorten(description, MAX_DESCRIPTION_CHARACTERS)
  return {
    ...tool,
    definition: { ...tool.definition, description: short, inputSchema: part },
    descriptionTokens: tokensOfCut(short, { length: description.length, tokens: tool.descriptionTokens }),
    schemaTokens: tokensOfCut(JSON.stringify(part), whole),
  }
}

/** Names of properties, those similar to the end of the pointer first. */
function namesOf({ properties }: JsonObject, pointer: string): string {
  const names = isObject(properties) ? Object.keys(properties) : []
  if (names.length === 0) return 'no properties.'
  const near = nearestNames(pointer.slice(pointer.lastIndexOf('/') + 1), names, MAX_NAMES)
  const others = names.length - near.length
  return `${shorten(near.join(', '), MAX_LIST_CHARACTERS)}${others > 0 ? ` and ${others} more` : ''}.`
}
