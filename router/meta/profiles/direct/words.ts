/** How the shared sentences name the methods of the direct profile, which has no meta-tools. */
import { listedHandle } from '../../results/handle.ts'
import type { ProfileWords } from '../../wording/profile-words.ts'

export const DIRECT_WORDS: ProfileWords = {
  usage: 'each is listed as server__tool and called by that name',
  finding: 'look through tools/list',
  wholeName: 'Give the whole name.',
  showsOwnNames: false,
  schema: () => ({ name: 'tools/list', args: {} }),
  readOn: handle => ({ name: 'resources/read', args: { uri: listedHandle(handle) } }),
}
