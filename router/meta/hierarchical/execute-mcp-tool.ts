/** The meta-tool that calls a tool, or fetches a prompt, by its path. */
import { isObject, type JsonObject } from '../../../core/json.ts'
import type { McpReply } from '../../../core/mcp/front/handler.ts'
import { refuse } from '../answers.ts'
import { callTool } from '../call-tool.ts'
import type { MetaTool, Work } from '../meta-tool.ts'
import { getPromptAsText } from '../prompt-text.ts'
import { findTarget } from '../targets.ts'

export const executeMcpTool: MetaTool = {
  definition: {
    name: 'execute_mcp_tool',
    description:
      'Call a tool by its tool_path from discover_mcp_tools (or get a prompt by its prompt_path). No input_schema yet? Discover with the tool_path as query first.',
    inputSchema: {
      type: 'object',
      properties: {
        tool_path: { type: 'string', description: 'As discover_mcp_tools gave it, e.g. github:create_issue' },
        arguments: { type: 'object', description: "Arguments by the tool's input_schema" },
      },
      required: ['tool_path'],
    },
  },
  call: execute,
}

function execute(work: Work, args: JsonObject): McpReply | Promise<McpReply> {
  const path = args.tool_path ?? args.prompt_path
  if (typeof path !== 'string' || path === '')
    return refuse(work, {
      refusal: 'tool_path is missing: give it as discover_mcp_tools does, such as "server:tool".',
      outcome: 'rejected',
    })
  const inner = readArguments(args)
  if (!inner)
    return refuse(work, {
      refusal: 'arguments is no object: give a JSON object with the arguments of the tool.',
      outcome: 'rejected',
    })
  const target = findTarget(work.catalog, path)
  if ('refusal' in target) return refuse(work, target)
  return 'tool' in target
    ? callTool(work, target, inner, work.request.params)
    : getPromptAsText(work, target, inner)
}

/** The object under `arguments`; models also write it as JSON text, or beside `tool_path`. */
function readArguments(args: JsonObject): JsonObject | undefined {
  const { tool_path: _, prompt_path: __, arguments: inner, ...beside } = args
  if (inner === undefined || inner === null || inner === '') return beside
  if (isObject(inner)) return inner
  if (typeof inner !== 'string') return undefined
  try {
    const parsed: unknown = JSON.parse(inner)
    return isObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}
