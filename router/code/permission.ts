/** Asks the caller whether a script may call a tool that can destroy something. */
import { matches } from '../../core/catalog/policy.ts'
import type { CodeConfig } from '../../core/catalog/router-config.ts'
import { Fault } from '../../core/errors.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { Caller } from '../../core/mcp/caller.ts'
import { missingCapabilities } from '../../core/mcp/protocol/capabilities.ts'
import type { ServerRequest } from '../../core/mcp/protocol/json-rpc.ts'
import type { ToolRoute } from '../catalog/server-part.ts'
import type { ToolTarget } from '../meta/calling/targets.ts'
import { revealBeginning } from '../meta/wording/shorten.ts'

const MAX_SHOWN_CHARACTERS = 600
/** Stands for any question, to find out whether the caller can be asked. */
const FORM: ServerRequest = { method: 'elicitation/create', params: {} }
const CHOICES = ['once', 'for this script', 'no'] as const
type Choice = (typeof CHOICES)[number]

/** Resolves with undefined if the tool may be called, otherwise with the reason. Rejects only with the Fault of the script's signal. */
export type Permit = (target: ToolTarget, args: JsonObject) => Promise<string | undefined>

/** `caller`: the caller of the script. Answers are remembered until the script ends; questions are asked one after another. */
export function createPermit(code: Pick<CodeConfig, 'destructive' | 'ask'>, caller: Caller): Permit {
  const allowed = new Set<string>()
  const refusedTools = new Set<string>()
  let last: Promise<unknown> = Promise.resolve()

  const ask = async (tool: ToolRoute, args: JsonObject): Promise<string | undefined> => {
    const { path } = tool
    if (allowed.has(path)) return undefined
    if (refusedTools.has(path)) return `The person who was asked does not allow ${path}.`
    const choice = await choose(caller, questionOn(path, args))
    if (typeof choice === 'object')
      return `${path} was not called, because the person could not be asked: ${choice.unasked}.`
    if (choice === 'for this script') allowed.add(path)
    if (choice === 'no') refusedTools.add(path)
    return choice === 'no' ? `The person who was asked does not allow ${path}.` : undefined
  }
  return ({ tool }, args) => {
    if (!needsPermission(code, tool)) return Promise.resolve(undefined)
    if (code.destructive === 'Refuse')
      return Promise.resolve(`${tool.path} can destroy something: scripts may not call it here.`)
    if (!caller.ask || missingCapabilities(FORM, caller.capabilities))
      return Promise.resolve(
        `${tool.path} can destroy something, and you cannot be asked: call it outside of a script, so that your client can ask.`,
      )
    const answer = last.then(() => ask(tool, args))
    last = answer.catch(() => {})
    return answer
  }
}

/** Either the server's own hint or a pattern of the gateway requires permission. A hint that a tool is harmless does not override a pattern. */
function needsPermission(
  { destructive, ask }: Pick<CodeConfig, 'destructive' | 'ask'>,
  tool: ToolRoute,
): boolean {
  if (ask.some(pattern => matches(pattern, tool.path))) return true
  const { annotations } = tool.definition
  return destructive !== 'Allow' && isObject(annotations) && annotations.destructiveHint === true
}

/** The question whether a script may call a tool with these arguments. */
function questionOn(path: string, args: JsonObject): ServerRequest {
  const shown = revealBeginning(JSON.stringify(args), MAX_SHOWN_CHARACTERS)
  const allow = { type: 'string', title: 'Allow', enum: [...CHOICES] }
  return {
    method: 'elicitation/create',
    params: {
      message: `A script wants to call ${path} with ${shown}`,
      requestedSchema: { type: 'object', properties: { allow }, required: ['allow'] },
    },
  }
}

/** Nobody answered in time, or the client has gone: unlike the end of the script, that is an answer, with an error. */
async function answerTo(
  { ask, signal }: Caller,
  question: ServerRequest,
): Promise<{ result?: JsonObject; error?: { message: string } }> {
  try {
    return (await ask?.(question, signal)) ?? {}
  } catch (error) {
    if (!(error instanceof Fault) || signal.aborted) throw error
    return { error }
  }
}

/** The choice of the person; `unasked`: why there is none. If the caller cannot be asked now, that is no decision about the tool: the next call may ask again. */
async function choose(caller: Caller, question: ServerRequest): Promise<Choice | { unasked: string }> {
  const { result, error } = await answerTo(caller, question)
  if (error) return { unasked: error.message.replace(/\.$/, '') }
  if (result?.action !== 'accept' || !isObject(result.content)) return 'no'
  const { allow } = result.content
  return CHOICES.find(choice => choice === allow) ?? 'no'
}
