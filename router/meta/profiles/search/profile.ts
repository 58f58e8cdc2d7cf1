/** The search profile: five tools to search, read schemas and call, for agents that work step by step. */
import { runScriptTool } from '../../../code/run-script-tool.ts'
import prices from '../definition-tokens.json' with { type: 'json' }
import { metaToolProfile, type ProfileTools } from '../profile.ts'
import { mcpExecuteTool } from './execute-tool.ts'
import { mcpGetToolSchema } from './get-tool-schema.ts'
import { mcpListServers } from './list-servers.ts'
import { mcpSearchToolRegex } from './search-tool-regex.ts'
import { mcpSearchTools } from './search-tools.ts'
import { SEARCH_WORDS } from './words.ts'

export const search: ProfileTools = metaToolProfile(
  [mcpSearchTools, mcpListServers, mcpSearchToolRegex, mcpGetToolSchema, mcpExecuteTool],
  {
    script: runScriptTool('mcp_run_script', 'Use mcp_search_tools'),
    prices: prices.search,
    words: SEARCH_WORDS,
  },
)
