/** The meta-tool that calls a tool by its name and server; it also gets prompts and reads resources. */
import type { JsonObject } from '../../../../core/json.ts'
import type { McpResponse } from '../../../../core/mcp/protocol/json-rpc.ts'
import { ARGUMENTS_PATH, textAt } from '../../arguments/given-arguments.ts'
import { hasTooManyFields, readName, TOO_MANY_FIELDS } from '../../arguments/read-name.ts'
import { execute } from '../../calling/execute.ts'
import type { MetaTool, Work } from '../../meta-tool.ts'
import { refuse } from '../../wording/answers.ts'
import { nameWithin, readServerScope } from './servers.ts'

export const mcpExecuteTool: MetaTool = {
  definition: {
    name: 'mcp_execute_tool',
    description:
      'Call a tool by its toolName and serverId from mcp_search_tools (or get a prompt by its prompt_path, read a resource by its uri, given as toolName).',
    inputSchema: {
      type: 'object',
      properties: {
        toolName: { type: 'string' },
        args: { type: 'object', description: "Arguments by the tool's inputSchema" },
        serverId: { type: 'string', description: 'Where several servers have the name' },
      },
      required: ['toolName'],
    },
  },
  call,
  nameUsed: ({ toolName, serverId }) => (serverId === undefined ? toolName : `${serverId}:${toolName}`),
}

const ARGS_PATH = [...ARGUMENTS_PATH, 'args']

function call(work: Work, given: JsonObject): McpResponse | Promise<McpResponse> {
  if (hasTooManyFields(given)) return refuse(work, TOO_MANY_FIELDS)
  const read = readName(given, 'toolName')
  if (!read) return refuse(work, TOOL_NAME_MISSING)
  const { args, serverId, ...beside } = read.rest
  const scope = readServerScope(work.catalog, { serverId })
  if ('refusal' in scope) return refuse(work, scope)
  return execute(
    work,
    nameWithin(work.catalog, read.name, scope.id),
    { value: args, text: textAt(work.request, ARGS_PATH) },
    beside,
    read.notes,
  )
}

/** The refusal of a call without a toolName. */
export const TOOL_NAME_MISSING = {
  refusal: 'toolName is missing: give it as mcp_search_tools does.',
  outcome: 'rejected',
} as const
