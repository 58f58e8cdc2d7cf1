/** Applies limits of calls. A refusal is a tool result with a sentence for the agent, since clients drop the body of a 429. */
import type { RouterServer } from '../../../core/catalog/router-config.ts'
import type { McpResponse } from '../../../core/mcp/protocol/json-rpc.ts'
import { limitedSentence } from '../../access/limits.ts'
import type { ToolRoute } from '../../catalog/server-part.ts'
import type { Work } from '../meta-tool.ts'
import { type Refusal, refuse } from '../wording/answers.ts'

/** Counts a call of a tool. If the call exceeds a limit, returns a refusal and counts the call for none of the limits. */
export function limitedCall(work: Work, server: RouterServer, { tool }: ToolRoute): Refusal | undefined {
  const { catalog, request, limits } = work
  const limited = limits.call(catalog.config, request.caller.identity, server.name, tool)
  return limited && { refusal: limitedSentence(limited), outcome: 'rejected', server, tool, limited }
}

/** As limitedCall, but reports the refusal and returns the answer to the agent. */
export function refuseLimited(work: Work, server: RouterServer, tool: ToolRoute): McpResponse | undefined {
  const limited = limitedCall(work, server, tool)
  return limited && refuse(work, limited)
}
