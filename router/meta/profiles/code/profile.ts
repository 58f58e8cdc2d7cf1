/** The code profile: a search that returns declarations, and scripts that call the found tools. */
import { runScriptTool } from '../../../code/run-script-tool.ts'
import prices from '../definition-tokens.json' with { type: 'json' }
import { metaToolProfile, type ProfileTools } from '../profile.ts'
import { findTools } from './find-tools.ts'
import { CODE_WORDS } from './words.ts'

export const code: ProfileTools = metaToolProfile([findTools], {
  script: runScriptTool('run_mcp_script', 'Use find_tools'),
  prices: prices.code,
  words: CODE_WORDS,
})
