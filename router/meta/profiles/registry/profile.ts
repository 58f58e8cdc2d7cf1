/** The registry profile: discover, activate what is needed often, execute; tools/list shows what the session has activated. */
import type { McpResponse } from '../../../../core/mcp/protocol/json-rpc.ts'
import { listedDefinition, listedTokens } from '../../listing/listed-definition.ts'
import type { Work } from '../../meta-tool.ts'
import { byName, countList, type ProfileTools } from '../profile.ts'
import { activate, activeTools, META_TOKENS } from './activate.ts'
import { discover } from './discover.ts'
import { execute } from './execute.ts'

const META_TOOLS = [discover, activate, execute]

export const registry: ProfileTools = {
  tools: byName(META_TOOLS),
  definitionTokens: META_TOKENS,
  usage: 'search with discover, call with execute; activate lists a tool under its own name',
  list,
}

function list(work: Work): McpResponse {
  const active = activeTools(work).toSorted((a, b) => (a.listedName < b.listedName ? -1 : 1))
  const tokens = active.reduce((sum, tool) => sum + listedTokens(tool), META_TOKENS)
  countList(work, work.catalog.totals.tokens, tokens)
  return { result: { tools: [...META_TOOLS.map(tool => tool.definition), ...active.map(listedDefinition)] } }
}
