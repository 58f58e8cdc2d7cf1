/** How the shared sentences name the tools of the hierarchical profile. */
import { shownHandle } from '../../results/handle.ts'
import type { ProfileWords } from '../../wording/profile-words.ts'

const discover = (query: string) => ({ name: 'discover_mcp_tools', args: { query } })

export const HIERARCHICAL_WORDS: ProfileWords = {
  usage: 'search with discover_mcp_tools, call with execute_mcp_tool',
  finding: 'search with discover_mcp_tools',
  wholeName: 'Give the whole tool_path.',
  showsOwnNames: false,
  search: discover,
  schema: discover,
  readOn: handle => ({ name: 'read_mcp_resource', args: { uri: shownHandle(handle) } }),
}
