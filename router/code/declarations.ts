/** Finds tools for scripts, and shows each as a declaration. */
import { parseToolPath } from '../../core/catalog/names.ts'
import type { CodeConfig } from '../../core/catalog/router-config.ts'
import type { ToolDefinition } from '../../core/catalog/server-catalog.ts'
import type { JsonObject, JsonValue } from '../../core/json.ts'
import { estimateTokens } from '../catalog/estimate.ts'
import type { ToolRoute } from '../catalog/server-part.ts'
import { needsOf } from '../meta/finding/prerequisites.ts'
import { type Found, type FoundItems, searchCatalog } from '../meta/finding/search-catalog.ts'
import type { Work } from '../meta/meta-tool.ts'
import { askedTerms } from '../meta/schemas/asked.ts'
import { answerBudget } from '../meta/wording/lines.ts'
import { shorten, shortenToTokens } from '../meta/wording/shorten.ts'
import { declarationOf } from './declaration.ts'
import { mayLearn } from './learned-shapes.ts'
import { closedToScripts } from './open-tools.ts'

const MAX_DESCRIPTION_CHARACTERS = 200
/** The budget of one declaration, in tokens. */
const DECLARATION_TOKENS = 220
/** For a tool requested by path: share of its part of the answer that the description may use. */
const WHOLE_DESCRIPTION_SHARE = 0.4

/** A found tool. `weak`: probably not what was meant, as all others that were found; `needs`: paths of tools to call first. */
export type FoundDeclaration = {
  path: string
  description: string
  declaration: string
  weak?: true
  needs?: string[]
}

/**
 * The tools that queries find, best first, without those that scripts may not call, and how many there are in all. Weak hits are left out,
 * unless all are weak.
 */
export async function findDeclarations(
  work: Work,
  code: CodeConfig,
  queries: readonly string[],
  limit: number,
): Promise<{ found: FoundDeclaration[] } & Pick<FoundItems, 'total' | 'absent'>> {
  const startedMs = performance.now()
  const { servers } = work.catalog
  const wanted = ({ server: name, definition }: { server: string; definition: JsonObject }) => {
    const [server, path] = [servers.get(name), `${name}:${definition.name}`]
    const tool = { path, definition: definition as ToolDefinition }
    return !!server && closedToScripts(code, server, tool, work.reviewed === true) === undefined
  }
  const { tools, total, absent } = await searchCatalog(work, queries, limit, { wanted })
  work.observer.searched(performance.now() - startedMs, tools.length, work)
  const strong = tools.filter(({ weak }) => !weak)
  const room = answerBudget(work.catalog) / queries.length
  const asked = askedTerms(queries)
  const found = (strong.length > 0 ? strong : tools).map(hit => describe(work, hit, room, asked))
  return { found, total: Math.max(total, found.length), absent }
}

/** `room`: tokens for a tool that was requested by its path. */
function describe(
  work: Work,
  { item: tool, weak, whole }: Found<ToolRoute>,
  room: number,
  asked: ReadonlySet<string>,
): FoundDeclaration {
  const { description } = tool.definition
  const needs = weak ? undefined : needsOf(work.catalog, tool)
  const text = typeof description === 'string' ? description : ''
  const short = shorten(text, MAX_DESCRIPTION_CHARACTERS)
  const long = whole ? shortenToTokens(text, room * WHOLE_DESCRIPTION_SHARE) : short
  const shown = long.length > short.length ? long : short
  const left = whole ? room - estimateTokens(shown) : 0
  return {
    path: tool.path,
    description: shown,
    declaration: toolDeclaration(work, tool, { budget: Math.max(DECLARATION_TOKENS, left), asked }),
    ...(weak && { weak }),
    ...(needs && { needs }),
  }
}

/** The declaration of a tool as scripts call it: `tools.github.get_issue(args: {…}): Promise<…>`. */
export function toolDeclaration(
  { catalog, scripts }: Pick<Work, 'catalog' | 'scripts'>,
  tool: ToolRoute,
  { budget = DECLARATION_TOKENS, asked }: { budget?: number; asked?: ReadonlySet<string> } = {},
): string {
  const { inputSchema, outputSchema } = tool.definition
  const output = outputSchema as JsonValue | undefined
  const server = catalog.servers.get(tool.server)
  const isLearned = output === undefined && server !== undefined && mayLearn(catalog, server)
  const returns = isLearned ? scripts?.shapes.returns(tool.path) : undefined
  return declarationOf({ name: pathOf(tool), input: inputSchema, output, asked }, budget, returns)
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/

/** The expression for a tool in a script: `tools.github.get_issue`, `tools["my-server"].run`. */
function pathOf({ path }: ToolRoute): string {
  const { server, tool } = parseToolPath(path) ?? { server: path, tool: '' }
  const part = (name: string) => (IDENTIFIER.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`)
  return `tools${part(server)}${part(tool)}`
}
