/** Calls a tool, gets a prompt or reads a resource, depending on the name; used by the execute meta-tool of every profile. */
import type { JsonObject } from '../../../core/json.ts'
import type { McpResponse } from '../../../core/mcp/protocol/json-rpc.ts'
import { type Given, type GivenArguments, roundedIn, roundedRefusal } from '../arguments/given-arguments.ts'
import { readArguments } from '../arguments/read-arguments.ts'
import type { Work } from '../meta-tool.ts'
import { getPromptAsText } from '../resources/prompt-text.ts'
import { readAsText } from '../resources/resource-text.ts'
import { refuse } from '../wording/answers.ts'
import { callTool } from './call-tool.ts'
import { findCalled } from './find-called.ts'
import { joinNotes, NO_NOTES, type Notes } from './notes.ts'
import type { PromptTarget, ToolTarget } from './targets.ts'

/** The beginning of `server|uri`, of the URI of an app's page, or of the handle of a result that was cut. */
const RESOURCE = /^(?:[a-z][-a-z0-9]*\||ui:\/\/)/

const ALL_IN_ONE = 'Send all arguments in one object, in the field for arguments.'

/** Whether `execute` reads what has this name, rather than calls it. */
export function namesResource(name: string): boolean {
  return RESOURCE.test(name)
}

/** `given`: the value of the field for arguments; `beside`: the fields next to it; `notes`: what was corrected before. */
export function execute(
  work: Work,
  name: string,
  given: Given,
  beside: JsonObject,
  notes: Notes = NO_NOTES,
): McpResponse | Promise<McpResponse> {
  if (namesResource(name)) return readAsText(work, name)
  const called = findCalled(work, name)
  if ('refusal' in called) return refuse(work, called)
  const { target } = called
  const properties = 'tool' in target ? target.tool.definition.inputSchema.properties : undefined
  const read = readArguments(given, beside, properties, target.server)
  if (!read)
    return refuse(work, {
      refusal: 'arguments is no object: give a JSON object with the arguments of the tool.',
      outcome: 'rejected',
    })
  const { value } = read.args
  const rounded = read.isJoined ? roundedIn(value, { value, text: work.request.text }) : undefined
  if (rounded !== undefined)
    return refuse(work, { refusal: roundedRefusal(rounded, ALL_IN_ONE), outcome: 'rejected' })
  const args = read.isJoined ? { ...read.args, isExact: true } : read.args
  return executeTarget(work, target, args, joinNotes(notes, joinNotes(called.notes, read.notes)))
}

function executeTarget(
  work: Work,
  target: ToolTarget | PromptTarget,
  args: GivenArguments,
  notes: Notes,
): McpResponse | Promise<McpResponse> {
  if ('prompt' in target) return getPromptAsText(work, target, args.value, notes)
  work.activated.touch(work.request.caller.client, target.tool.path)
  return callTool(work, target, args, work.request.params, notes)
}
