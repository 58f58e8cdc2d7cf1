/** Tools for the user interfaces of a server (MCP Apps), which models must not see. Pure. */
import { isObject, type JsonObject } from '../json.ts'

/** Whether `_meta.ui.visibility` leaves a tool to apps alone. Without it, or if it is empty, models see the tool too. */
export function isForApps({ _meta: meta }: JsonObject): boolean {
  const ui = isObject(meta) ? meta.ui : undefined
  const visibility = isObject(ui) ? ui.visibility : undefined
  return Array.isArray(visibility) && visibility.length > 0 && !visibility.includes('model')
}
