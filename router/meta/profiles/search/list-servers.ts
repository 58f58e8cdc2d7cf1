/** The meta-tool that lists the servers that can be used. */
import type { JsonObject } from '../../../../core/json.ts'
import type { McpResponse } from '../../../../core/mcp/protocol/json-rpc.ts'
import type { MetaTool, Work } from '../../meta-tool.ts'
import { discoveryReply, refuse } from '../../wording/answers.ts'
import { answerBudget, fitLines } from '../../wording/lines.ts'
import { serverNameOf, serversCalled } from './servers.ts'

export const mcpListServers: MetaTool = {
  definition: {
    name: 'mcp_list_servers',
    description: 'List servers with their tool counts.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'Part of a name, title, category or description' },
      },
    },
    annotations: { readOnlyHint: true },
  },
  call,
}

function call(work: Work, { query }: JsonObject): McpResponse {
  if (typeof (query ?? '') !== 'string')
    return refuse(work, { refusal: 'query is no text: give a string.', outcome: 'rejected' })
  const { catalog } = work
  const servers = serversCalled(catalog, String(query ?? '')).filter(({ status }) => !status.hidden)
  const counts = new Map(catalog.parts.map(({ server, tools }) => [server, tools.length]))
  const lines = servers.map(server => ({
    serverId: server.name,
    serverName: serverNameOf(server),
    toolCount: counts.get(server.name) ?? 0,
    state: server.status.state,
  }))
  const fitting = fitLines(lines, answerBudget(catalog))
  const left = lines.length - fitting.lines.length
  const more = left > 0 ? `${left} more servers: give a query, or search the tools.` : undefined
  return discoveryReply(work, { servers: fitting.lines, more })
}
