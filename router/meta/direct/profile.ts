/** The direct profile: all tools under their listed names, for clients that search themselves. */
import type { McpReply } from '../../../core/mcp/front/handler.ts'
import { isShown } from '../../catalog/catalog.ts'
import { listedDefinition, listedTokens } from '../listed-definition.ts'
import { tokenRoute, type Work } from '../meta-tool.ts'
import { pageOf } from '../pages.ts'
import type { ProfileTools } from '../profile.ts'
import { invalid } from '../rpc-errors.ts'

/** Many clients read the first page only, so pages are large: some 4 MB at most. */
const PAGE_ITEMS = 1_000
const PAGE_TOKENS = 1_000_000

export const direct: ProfileTools = {
  tools: new Map(),
  definitionTokens: 0,
  usage: 'each is listed as server__tool and called by that name',
  list,
}

function list(work: Work): McpReply {
  const { catalog, observer, request } = work
  const { cursor } = request.params
  const shown = catalog.tools.filter(tool => isShown(catalog, tool.server))
  let tokens = 0
  const page = pageOf(
    shown.sort((a, b) => (a.listedName < b.listedName ? -1 : 1)),
    tool => tool.listedName,
    cursor,
    (tool, count) => {
      const cost = listedTokens(tool)
      const fits = count < PAGE_ITEMS && tokens + cost <= PAGE_TOKENS
      if (fits || count === 0) tokens += cost
      return fits
    },
  )
  if (!page) return invalid('cursor is not valid')
  // Direct use costs the whole list once, however many pages it is read in.
  if (cursor === undefined) observer.tokensDirect(tokenRoute(work), catalog.totals.tokens)
  observer.tokensServed(tokenRoute(work), 'definitions', tokens)
  return { result: { tools: page.items.map(listedDefinition), nextCursor: page.nextCursor } }
}
