/** The registry profile: discover, activate and execute; tools/list also shows what the session has activated. */
import type { McpResponse } from '../../../../core/mcp/protocol/json-rpc.ts'
import { runScriptTool } from '../../../code/run-script-tool.ts'
import { listedDefinition, listedTokens } from '../../listing/listed-definition.ts'
import type { Work } from '../../meta-tool.ts'
import prices from '../definition-tokens.json' with { type: 'json' }
import { byName, countList, definitionTokens, listedScript, type ProfileTools } from '../profile.ts'
import { activate, activeTools } from './activate.ts'
import { discover } from './discover.ts'
import { execute } from './execute.ts'
import { REGISTRY_WORDS } from './words.ts'

const META_TOOLS = [discover, activate, execute]
const SCRIPT = runScriptTool('run', 'Use discover')

export const registry: ProfileTools = {
  tools: byName(META_TOOLS),
  script: SCRIPT,
  prices: prices.registry,
  words: REGISTRY_WORDS,
  list,
}

function list(work: Work): McpResponse {
  const active = activeTools(work).toSorted((a, b) => (a.listedName < b.listedName ? -1 : 1))
  const { catalog } = work
  const script = listedScript(catalog, SCRIPT)
  const metaTools = script ? [...META_TOOLS, script] : META_TOOLS
  const tokens = active.reduce((sum, tool) => sum + listedTokens(tool), definitionTokens(catalog, registry))
  countList(work, catalog.totals.tokens, tokens)
  return { result: { tools: [...metaTools.map(tool => tool.definition), ...active.map(listedDefinition)] } }
}
