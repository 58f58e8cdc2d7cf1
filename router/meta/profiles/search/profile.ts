/** The search profile: five tools to search, look at schemas and call, for agents that go step by step. */
import { metaToolProfile, type ProfileTools } from '../profile.ts'
import { mcpExecuteTool } from './execute-tool.ts'
import { mcpGetToolSchema } from './get-tool-schema.ts'
import { mcpListServers } from './list-servers.ts'
import { mcpSearchToolRegex } from './search-tool-regex.ts'
import { mcpSearchTools } from './search-tools.ts'

export const search: ProfileTools = metaToolProfile(
  [mcpSearchTools, mcpListServers, mcpSearchToolRegex, mcpGetToolSchema, mcpExecuteTool],
  {
    definitionTokens: 441,
    usage: 'search with mcp_search_tools, see arguments with mcp_get_tool_schema, call with mcp_execute_tool',
  },
)
