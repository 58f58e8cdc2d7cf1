/** How the shared sentences name the tools of the registry profile. */
import { shownHandle } from '../../results/handle.ts'
import type { ProfileWords } from '../../wording/profile-words.ts'

export const REGISTRY_WORDS: ProfileWords = {
  usage: 'search with discover, call with execute; activate lists a tool under its own name',
  finding: 'search with discover',
  wholeName: 'Give the whole name.',
  showsOwnNames: false,
  search: query => ({ name: 'discover', args: { query } }),
  schema: path => ({ name: 'activate', args: { tools: [path] } }),
  readOn: handle => ({ name: 'execute', args: { tool: shownHandle(handle) } }),
}
