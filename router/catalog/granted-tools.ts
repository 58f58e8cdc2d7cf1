/** Which tools of a catalog are granted: computed once for each grant and server, however many combinations of rules there are. Pure. */
import type { AccessRule, ToolGrant } from '../../core/catalog/access-config.ts'
import { concerns, isToolGranted, isToolGrantedBy } from '../../core/catalog/grants.ts'
import type { RouterServer } from '../../core/catalog/router-config.ts'
import type { ToolDefinition } from '../../core/catalog/server-catalog.ts'
import { rulesFor, type View } from '../access/view.ts'
import type { ServerPart } from './server-part.ts'

export type GrantedTools = {
  /** The rules of a view that are about a server. */
  rulesFor(view: View, server: RouterServer): AccessRule[]
  /** For each tool of a part, 1 if a view sees it, else 0. `rules`: those of the view that are about the server. */
  seen(view: View, rules: readonly AccessRule[], server: RouterServer, part: ServerPart): Uint8Array
}

/** For one catalog, whose servers and rules do not change. */
export function createGrantedTools(): GrantedTools {
  const serversOf = new WeakMap<AccessRule, ReadonlySet<string>>()
  /** By rule, and by the grant of the most that the gateway offers. */
  const masks = new WeakMap<AccessRule | ToolGrant, Map<ServerPart, Uint8Array>>()

  function isAbout(rule: AccessRule, server: RouterServer): boolean {
    const { name, endpoint } = server
    if (endpoint.kind === 'scripts') return concerns(rule, server)
    let servers = serversOf.get(rule)
    if (!servers) {
      servers = new Set(rule.servers)
      serversOf.set(rule, servers)
    }
    return servers.has(name) || servers.has('*')
  }

  function maskOf(
    grant: AccessRule | ToolGrant,
    part: ServerPart,
    isGranted: (definition: ToolDefinition) => boolean,
  ): Uint8Array {
    const known = masks.get(grant) ?? new Map<ServerPart, Uint8Array>()
    masks.set(grant, known)
    let mask = known.get(part)
    if (!mask) {
      mask = Uint8Array.from(part.tools, ({ definition }) => Number(isGranted(definition)))
      known.set(part, mask)
    }
    return mask
  }

  return {
    rulesFor: (view, server) => rulesFor(view, server, isAbout),
    seen({ most }, rules, server, part) {
      const masks = rules.map(rule =>
        maskOf(rule, part, definition => isToolGrantedBy(rule, server, definition)),
      )
      const offered = maskOf(most, part, definition => isToolGranted(most, server, definition))
      return offered.map((isOffered, tool) =>
        isOffered === 1 && masks.some(mask => mask[tool] === 1) ? 1 : 0,
      )
    },
  }
}
