/** Runs a reviewed script as the tool that a request called. */
import type { JsonObject } from '../../core/json.ts'
import type { McpResponse } from '../../core/mcp/protocol/json-rpc.ts'
import { argumentHelp } from '../meta/arguments/argument-help.ts'
import { notFound } from '../meta/calling/rpc-errors.ts'
import type { Work } from '../meta/meta-tool.ts'
import { errorReply } from '../meta/wording/answers.ts'
import { argumentsRefusal } from '../meta/wording/sentences.ts'

/** `tool`: undefined if the request is not a call of a tool. Rejects only with faults of the caller, such as `cancelled`. */
export async function runReviewed(
  work: Work,
  tool: string | undefined,
  args: JsonObject,
): Promise<McpResponse> {
  const { scripts, catalog, schemas, words } = work
  const { code, budget } = catalog.config
  const script = catalog.config.scripts?.find(({ name }) => name === tool)
  if (!scripts || !code || !script) return notFound('Scripts have tools only.')
  const { inputSchema } = script
  // A server's own route passes arguments on as they are.
  const problems = schemas.problems(inputSchema, args) ?? []
  if (problems.length > 0) {
    const help = argumentHelp(inputSchema, args, problems, budget.responseTokens)
    return errorReply(work, argumentsRefusal(script.name, words, help))
  }
  return scripts.run(work, code, { source: script.code, input: args, reviewed: script })
}
