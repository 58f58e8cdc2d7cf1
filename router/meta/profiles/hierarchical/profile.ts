/** The hierarchical profile: discover with schemas, execute, and two tools for resources. */
import { runScriptTool } from '../../../code/run-script-tool.ts'
import prices from '../definition-tokens.json' with { type: 'json' }
import { metaToolProfile, type ProfileTools } from '../profile.ts'
import { discoverMcpTools } from './discover-mcp-tools.ts'
import { executeMcpTool } from './execute-mcp-tool.ts'
import { listMcpResources } from './list-mcp-resources.ts'
import { readMcpResource } from './read-mcp-resource.ts'
import { HIERARCHICAL_WORDS } from './words.ts'

export const hierarchical: ProfileTools = metaToolProfile(
  [discoverMcpTools, executeMcpTool, listMcpResources, readMcpResource],
  {
    script: runScriptTool('run_mcp_script', 'Use discover_mcp_tools'),
    prices: prices.hierarchical,
    words: HIERARCHICAL_WORDS,
  },
)
