/** The hierarchical profile: discover with schemas, execute, and resources in two tools of their own. */
import { metaToolProfile, type ProfileTools } from '../profile.ts'
import { discoverMcpTools } from './discover-mcp-tools.ts'
import { executeMcpTool } from './execute-mcp-tool.ts'
import { listMcpResources } from './list-mcp-resources.ts'
import { readMcpResource } from './read-mcp-resource.ts'

export const hierarchical: ProfileTools = metaToolProfile(
  [discoverMcpTools, executeMcpTool, listMcpResources, readMcpResource],
  { definitionTokens: 343, usage: 'search with discover_mcp_tools, call with execute_mcp_tool' },
)
