/** What stands under a text that was cut: how much there is, and how to get what comes next. Pure. */
import type { Profile } from '../../../core/catalog/router-config.ts'
import type { Work } from '../meta-tool.ts'
import { type Handle, listedHandle, shownHandle } from './handle.ts'
import { KEPT_MINUTES } from './store.ts'

const HOW: Record<Profile, (handle: Handle) => string> = {
  hierarchical: handle => `read_mcp_resource with uri "${shownHandle(handle)}"`,
  search: handle => `mcp_execute_tool with toolName "${shownHandle(handle)}"`,
  registry: handle => `execute with tool "${shownHandle(handle)}"`,
  direct: handle => `resources/read of "${listedHandle(handle)}"`,
}

export function cutNote({ request: { route } }: Work, end: number, bytes: number, next: Handle): string {
  const how = HOW[route.kind === 'gateway' ? route.profile : 'direct'](next)
  return `[Cut after ${end} of ${bytes} bytes. What follows, within ${KEPT_MINUTES} minutes: ${how}.]`
}

/** Where nothing could be kept. */
export function lossNote(bytes: number, mostBytes: number): string {
  return `[Cut: ${bytes} more bytes of text are over the server's limit of ${mostBytes}. Ask for less: a filter, a page or a smaller range.]`
}
