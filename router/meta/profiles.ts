/** The profiles of a gateway: which meta-tools each shows, and what their definitions cost. */
import type { ServedProfile } from '../../core/catalog/profiles.ts'
import type { Profile } from '../../core/catalog/router-config.ts'
import { discoverMcpTools } from './hierarchical/discover-mcp-tools.ts'
import { executeMcpTool } from './hierarchical/execute-mcp-tool.ts'
import { listMcpResources } from './hierarchical/list-mcp-resources.ts'
import { readMcpResource } from './hierarchical/read-mcp-resource.ts'
import type { MetaTool } from './meta-tool.ts'

export type ProfileTools = {
  tools: readonly MetaTool[]
  /** o200k_base tokens of the definitions as they are listed; a test counts them. */
  definitionTokens: number
}

/** Profiles without an entry are part of the contract, but not of this version. */
export const PROFILES: Readonly<
  Record<ServedProfile, ProfileTools> & Partial<Record<Profile, ProfileTools>>
> = {
  hierarchical: {
    tools: [discoverMcpTools, executeMcpTool, listMcpResources, readMcpResource],
    definitionTokens: 343,
  },
}
