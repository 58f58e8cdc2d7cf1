/** Which tools scripts may call, of those that their caller may use. Pure. */
import { isToolGranted } from '../../core/catalog/grants.ts'
import { matches } from '../../core/catalog/policy.ts'
import type { CodeConfig, RouterServer } from '../../core/catalog/router-config.ts'
import type { ToolRoute } from '../catalog/server-part.ts'

const EVERY = { allow: ['*'], deny: [] }

/** Why a script may not call a tool; undefined if it may. `reviewed`: whether it is a reviewed script, which may not call other scripts. */
export function closedToScripts(
  { tools: { allow, deny, readOnly } }: Pick<CodeConfig, 'tools'>,
  server: RouterServer,
  { path, definition }: Pick<ToolRoute, 'path' | 'definition'>,
  reviewed: boolean,
): string | undefined {
  if (reviewed && server.endpoint.kind === 'scripts')
    return `${path} is a script: reviewed scripts may not call other scripts.`
  if (!allow.some(one => matches(one, path)) || deny.some(one => matches(one, path)))
    return `${path} may not be called by scripts here.`
  if (readOnly && !isToolGranted({ ...EVERY, readOnly }, server, definition))
    return `${path} is not known to only read, and this script may call no other tools.`
  return undefined
}
