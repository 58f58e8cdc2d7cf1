/** The direct profile: all tools under their listed names, for clients that search by themselves. */
import type { JsonValue } from '../../../../core/json.ts'
import type { McpResponse } from '../../../../core/mcp/protocol/json-rpc.ts'
import { runScriptTool } from '../../../code/run-script-tool.ts'
import { invalid } from '../../calling/rpc-errors.ts'
import { gatewayLists, listPage, sorted } from '../../listing/lists.ts'
import { tokenRoute, type Work } from '../../meta-tool.ts'
import prices from '../definition-tokens.json' with { type: 'json' }
import { listedScript, type ProfileTools } from '../profile.ts'
import { DIRECT_WORDS } from './words.ts'

/** Many clients read only the first page, so pages are large: up to some 4 MB. */
const PAGE_ITEMS = 1_000
const PAGE_TOKENS = 1_000_000

const SCRIPT = runScriptTool('run_mcp_script', 'Look through tools/list')

export const direct: ProfileTools = {
  tools: new Map(),
  script: SCRIPT,
  prices: prices.direct,
  words: DIRECT_WORDS,
  list,
}

function list(work: Work): McpResponse {
  const { catalog, observer, once, request } = work
  const { cursor } = request.params
  const tools = once(catalog, 'all tools', () => sorted(gatewayLists(once, catalog, 'tools').flat()))
  const pageAt = (at: unknown) => listPage('tools', tools, at, PAGE_ITEMS, PAGE_TOKENS)
  const page = cursor === undefined ? once(catalog, 'first tools', () => pageAt(undefined)) : pageAt(cursor)
  if (!page) return invalid('cursor is not valid')
  // The script meta-tool comes first on the first page.
  const script = cursor === undefined ? listedScript(catalog, SCRIPT) : undefined
  const scriptTokens = script ? prices.direct.script : 0
  // Counted once for the whole list, however many pages it is read in.
  if (cursor === undefined) observer.tokensDirect(tokenRoute(work), catalog.totals.tokens)
  observer.tokensServed(tokenRoute(work), 'definitions', page.tokens + scriptTokens)
  if (!script || page.reply.error) return page.reply
  const { result } = page.reply
  return { result: { ...result, tools: [script.definition, ...(result.tools as JsonValue[])] } }
}
