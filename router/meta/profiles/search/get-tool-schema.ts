/** The meta-tool that shows the input schema of one tool, or a part of it. */
import type { JsonObject, JsonValue } from '../../../../core/json.ts'
import type { McpResponse } from '../../../../core/mcp/protocol/json-rpc.ts'
import { escapeTokens, tokensOfCut } from '../../../catalog/estimate.ts'
import type { ToolRoute } from '../../../catalog/server-part.ts'
import { findCalled } from '../../calling/find-called.ts'
import type { MetaTool, Work } from '../../meta-tool.ts'
import { foldSchema } from '../../schemas/fold.ts'
import { partOfTool } from '../../schemas/part-of-tool.ts'
import { parsePartQuery } from '../../schemas/pointer.ts'
import { trimSchema } from '../../schemas/trim.ts'
import { type Refusal, refuse, schemaReply } from '../../wording/answers.ts'
import { answerBudget, lineCost, WHOLE_BUDGETS } from '../../wording/lines.ts'
import { quote } from '../../wording/sentences.ts'
import { shorten } from '../../wording/shorten.ts'
import { TOOL_NAME_MISSING } from './execute-tool.ts'
import { nameWithin, readServerScope } from './servers.ts'

/** Limit for the description beside a schema that does not fit whole. */
const MAX_CUT_CHARACTERS = 400

export const mcpGetToolSchema: MetaTool = {
  definition: {
    name: 'mcp_get_tool_schema',
    description: 'Get the inputSchema of a tool before you call it.',
    inputSchema: {
      type: 'object',
      properties: { toolName: { type: 'string' }, serverId: { type: 'string' } },
      required: ['toolName'],
    },
    annotations: { readOnlyHint: true },
  },
  call,
}

function call(work: Work, { toolName, serverId }: JsonObject): McpResponse {
  if (typeof toolName !== 'string' || toolName === '') return refuse(work, TOOL_NAME_MISSING)
  const tool = findTool(work, toolName, serverId)
  if ('refusal' in tool) return refuse(work, tool)
  const { text, frameTokens, schemaTokens } = compose(work, tool)
  return schemaReply(work, text, frameTokens, schemaTokens)
}

/** A name such as `create_issue#/properties/labels` returns the tool with that part as its schema. */
function findTool(work: Work, toolName: string, serverId: JsonValue | undefined): ToolRoute | Refusal {
  const scope = readServerScope(work.catalog, { serverId })
  if ('refusal' in scope) return scope
  const find = (name: string) => {
    const called = findCalled(work, nameWithin(work.catalog, name, scope.id))
    return 'refusal' in called ? called : called.target
  }
  const target = find(toolName)
  if ('prompt' in target)
    return { refusal: `${quote(toolName)} is a prompt: get it with mcp_execute_tool.`, outcome: 'rejected' }
  if (!('refusal' in target)) return target.tool
  const asked = parsePartQuery(toolName)
  const whole = asked ? find(asked.path) : target
  if ('refusal' in whole || 'prompt' in whole) return target
  return partOfTool(whole.tool, asked?.pointer ?? '')
}

function compose(
  { catalog }: Work,
  { tool, server, definition, descriptionTokens, schemaTokens: untrimmed }: ToolRoute,
) {
  const { description: whole = '' } = definition
  const { schema, tokens: schemaTokens } = trimSchema(definition.inputSchema, untrimmed)
  const usual = answerBudget(catalog)
  const fits = descriptionTokens + escapeTokens(whole) + schemaTokens <= usual * WHOLE_BUDGETS
  const budget = fits ? usual * WHOLE_BUDGETS : usual
  const description = fits ? whole : shorten(whole, Math.min(MAX_CUT_CHARACTERS, budget))
  const frame = { toolName: tool, serverId: server, description }
  const frameTokens =
    lineCost({ ...frame, description: '' }) +
    tokensOfCut(description, { length: whole.length, tokens: descriptionTokens }) +
    escapeTokens(description)
  const folded = foldSchema(schema, budget - frameTokens, schemaTokens)
  const more = folded.folded
    ? `inputSchema is folded; a part in full: toolName "${tool}#/properties/NAME"`
    : undefined
  const text = JSON.stringify({ ...frame, inputSchema: folded.schema, more })
  return { text, frameTokens, schemaTokens: folded.tokens }
}
