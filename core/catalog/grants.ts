/** What one rule grants: tools, resources and prompts by their names, and tools that are known to only read. Pure. */

import { isObject } from '../json.ts'
import { ownValue } from '../own-value.ts'
import type { AccessRule, Grant, ToolGrant } from './access-config.ts'
import { matches } from './policy.ts'
import type { RouterServer } from './router-config.ts'
import type { ToolDefinition } from './server-catalog.ts'

/** Whether a grant includes a name: that of a tool or prompt, or the URI of a resource. */
export function isGranted({ allow, deny }: Grant, name: string): boolean {
  return allow.some(pattern => matches(pattern, name)) && !deny.some(pattern => matches(pattern, name))
}

/** Whether a grant includes a tool: by its name, and by whether it only reads if the grant requires that. */
export function isToolGranted(grant: ToolGrant, server: RouterServer, definition: ToolDefinition): boolean {
  return isGranted(grant, definition.name) && (!grant.readOnly || isReadOnly(server, definition))
}

/** Whether a rule is about a server. */
export function concerns(
  { servers, scripts = [] }: Pick<AccessRule, 'servers' | 'scripts'>,
  { name, endpoint }: Pick<RouterServer, 'name' | 'endpoint'>,
): boolean {
  if (servers[0] === '*') return true
  return endpoint.kind === 'scripts' ? scripts.length > 0 : servers.includes(name)
}

/** Whether a rule that is about a server grants a tool of it. Scripts are selected one by one. */
export function isToolGrantedBy(
  { tools, servers, scripts = [] }: Pick<AccessRule, 'tools' | 'servers' | 'scripts'>,
  server: RouterServer,
  definition: ToolDefinition,
): boolean {
  const isSelected =
    server.endpoint.kind !== 'scripts' || servers[0] === '*' || scripts.includes(definition.name)
  return isSelected && isToolGranted(tools, server, definition)
}

/** As the manifest says; if it does not say, as the server's own `readOnlyHint` says, if the manifest trusts the server. */
function isReadOnly({ tools }: RouterServer, { name, annotations }: ToolDefinition): boolean {
  const override = ownValue(tools.overrides, name)?.readOnly
  if (override !== undefined) return override
  return tools.trustHints === true && isObject(annotations) && annotations.readOnlyHint === true
}
