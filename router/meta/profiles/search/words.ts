/** How the shared sentences name the tools of the search profile. */
import { shownHandle } from '../../results/handle.ts'
import type { ProfileWords } from '../../wording/profile-words.ts'

export const SEARCH_WORDS: ProfileWords = {
  usage: 'search with mcp_search_tools, see arguments with mcp_get_tool_schema, call with mcp_execute_tool',
  finding: 'search with mcp_search_tools',
  wholeName: 'Give its serverId too.',
  showsOwnNames: true,
  search: query => ({ name: 'mcp_search_tools', args: { query } }),
  schema: toolName => ({ name: 'mcp_get_tool_schema', args: { toolName } }),
  readOn: handle => ({ name: 'mcp_execute_tool', args: { toolName: shownHandle(handle) } }),
}
