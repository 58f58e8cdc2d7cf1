/** The meta-tool that calls a tool, activated or not; it also gets prompts and reads resources. */
import type { JsonObject } from '../../../../core/json.ts'
import type { McpResponse } from '../../../../core/mcp/protocol/json-rpc.ts'
import { ARGUMENTS_PATH, textAt } from '../../arguments/given-arguments.ts'
import { hasTooManyFields, readName, TOO_MANY_FIELDS } from '../../arguments/read-name.ts'
import { execute as executeNamed } from '../../calling/execute.ts'
import type { MetaTool, Work } from '../../meta-tool.ts'
import { refuse } from '../../wording/answers.ts'

export const execute: MetaTool = {
  definition: {
    name: 'execute',
    description:
      'Call a tool by its name from discover, activated or not (or get a prompt by its prompt_path, read a resource by its uri). Its arguments are unknown? Activate it first.',
    inputSchema: {
      type: 'object',
      properties: {
        tool: { type: 'string', description: 'e.g. github:create_issue' },
        args: { type: 'object', default: {}, description: "Arguments by the tool's inputSchema" },
      },
      required: ['tool'],
    },
  },
  call,
  nameUsed: ({ tool }) => tool,
}

const ARGS_PATH = [...ARGUMENTS_PATH, 'args']

function call(work: Work, given: JsonObject): McpResponse | Promise<McpResponse> {
  if (hasTooManyFields(given)) return refuse(work, TOO_MANY_FIELDS)
  const read = readName(given, 'tool')
  if (!read)
    return refuse(work, {
      refusal: 'tool is missing: give a name as discover does, such as "server:tool".',
      outcome: 'rejected',
    })
  const { args, ...beside } = read.rest
  return executeNamed(
    work,
    read.name,
    { value: args, text: textAt(work.request, ARGS_PATH) },
    beside,
    read.notes,
  )
}
