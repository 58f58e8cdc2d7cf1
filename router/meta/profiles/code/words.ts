/** How the shared sentences name the tools of the code profile. */
import { shownHandle } from '../../results/handle.ts'
import type { ProfileWords } from '../../wording/profile-words.ts'

export const CODE_WORDS: ProfileWords = {
  usage: 'search with find_tools, call with run_mcp_script',
  finding: 'search with find_tools',
  wholeName: 'Give the whole name.',
  showsOwnNames: false,
  search: query => ({ name: 'find_tools', args: { query } }),
  schema: path => ({ name: 'find_tools', args: { query: path } }),
  readOn: handle => ({ name: 'run_mcp_script', args: { code: `return read("${shownHandle(handle)}")` } }),
}
