/** The search profile: five tools to search, read schemas and call, for agents that work step by step. */
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
  { definitionTokens: prices.search, words: SEARCH_WORDS },
)
