/** The meta-tool that calls a tool, or fetches a prompt, by its path. */
import type { JsonObject, JsonValue } from '../../../../core/json.ts'
import { sliceJson } from '../../../../core/json-slice.ts'
import type { McpResponse } from '../../../../core/mcp/protocol/json-rpc.ts'
import { ARGUMENTS_PATH, type Given, objectIn, textAt } from '../../arguments/given-arguments.ts'
import { hasTooManyFields, readName, TOO_MANY_FIELDS } from '../../arguments/read-name.ts'
import { execute } from '../../calling/execute.ts'
import { joinNotes, NO_NOTES, type Notes } from '../../calling/notes.ts'
import type { MetaTool, Work } from '../../meta-tool.ts'
import { refuse } from '../../wording/answers.ts'

export const executeMcpTool: MetaTool = {
  definition: {
    name: 'execute_mcp_tool',
    description:
      'Call a tool by its tool_path from discover_mcp_tools (or get a prompt by its prompt_path). No input_schema yet? Discover with the tool_path as query first.',
    inputSchema: {
      type: 'object',
      properties: {
        tool_path: { type: 'string', description: 'e.g. github:create_issue' },
        arguments: { type: 'object', description: "Arguments by the tool's input_schema" },
      },
      required: ['tool_path'],
    },
  },
  call,
  nameUsed: args => args.tool_path ?? args.prompt_path,
}

const NESTED = 'Note: the whole call stood inside of arguments; tool_path belongs beside them.'

const NOTHING: JsonObject = Object.freeze({})
const GIVEN_PATH = [...ARGUMENTS_PATH, 'arguments']

function call(work: Work, args: JsonObject): McpResponse | Promise<McpResponse> {
  return callWith(work, args, { value: args.arguments, text: textAt(work.request, GIVEN_PATH) }, NO_NOTES)
}

/** `given`: the tool's arguments. */
function callWith(
  work: Work,
  args: JsonObject,
  given: Given,
  notes: Notes,
): McpResponse | Promise<McpResponse> {
  if (isPlain(args)) return execute(work, args.tool_path, given, NOTHING, notes)
  const nested = objectIn(given)
  const whole =
    pathOf(args) === undefined && nested && pathOf(nested.value) !== undefined ? nested : undefined
  if (hasTooManyFields(args) || (whole && hasTooManyFields(whole.value))) return refuse(work, TOO_MANY_FIELDS)
  if (whole) {
    const text = whole.text === undefined ? undefined : sliceJson(whole.text, ['arguments'])
    const { arguments: _arguments, ...outer } = args
    return callWith(work, { ...outer, ...whole.value }, { value: whole.value.arguments, text }, [NESTED])
  }
  const read = readName(withToolPath(args), 'tool_path')
  if (!read)
    return refuse(work, {
      refusal: 'tool_path is missing: give it as discover_mcp_tools does, such as "server:tool".',
      outcome: 'rejected',
    })
  const { arguments: _arguments, ...beside } = read.rest
  return execute(work, read.name, given, beside, joinNotes(notes, read.notes))
}

/** The documented form, which nearly every call has: nothing needs to be interpreted. */
function isPlain(args: JsonObject): args is JsonObject & { tool_path: string } {
  for (const name in args) if (name !== 'tool_path' && name !== 'arguments') return false
  return typeof args.tool_path === 'string' && args.tool_path !== ''
}

/** The path of a tool or prompt. */
function pathOf({ tool_path, prompt_path }: JsonObject): JsonValue | undefined {
  return tool_path ?? prompt_path
}

/** The arguments with the path in `tool_path`, also if it is the path of a prompt. */
function withToolPath(args: JsonObject): JsonObject {
  const path = pathOf(args)
  if (path === undefined) return args
  const { prompt_path: _prompt, ...rest } = args
  return { ...rest, tool_path: path }
}
