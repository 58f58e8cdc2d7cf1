/** Finds tools for scripts, and shows each as a declaration. */
import { parseToolPath } from '../../core/catalog/names.ts'
import type { CodeConfig } from '../../core/catalog/router-config.ts'
import type { ToolDefinition } from '../../core/catalog/server-catalog.ts'
import type { JsonObject, JsonValue } from '../../core/json.ts'
import type { ToolRoute } from '../catalog/server-part.ts'
import { needsOf } from '../meta/finding/prerequisites.ts'
import { type Found, type FoundItems, searchCatalog } from '../meta/finding/search-catalog.ts'
import type { Work } from '../meta/meta-tool.ts'
import { shorten } from '../meta/wording/shorten.ts'
import { declarationOf } from './declaration.ts'
import { mayLearn } from './learned-shapes.ts'
import { closedToScripts } from './open-tools.ts'

const MAX_DESCRIPTION_CHARACTERS = 200
/** The budget of one declaration, in tokens. */
const DECLARATION_TOKENS = 220

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
  const found = (strong.length > 0 ? strong : tools).map(hit => describe(work, hit))
  return { found, total: Math.max(total, found.length), absent }
}

function describe(work: Work, { item: tool, weak }: Found<ToolRoute>): FoundDeclaration {
  const { description } = tool.definition
  const needs = weak ? undefined : needsOf(work.catalog, tool)
  return {
    path: tool.path,
    description: typeof description === 'string' ? shorten(description, MAX_DESCRIPTION_CHARACTERS) : '',
    declaration: toolDeclaration(work, tool),
    ...(weak && { weak }),
    ...(needs && { needs }),
  }
}

/** The declaration of a tool as scripts call it: `tools.github.get_issue(args: {…}): Promise<…>`. */
export function toolDeclaration(
  { catalog, scripts }: Pick<Work, 'catalog' | 'scripts'>,
  tool: ToolRoute,
): string {
  const { inputSchema, outputSchema } = tool.definition
  const output = outputSchema as JsonValue | undefined
  const server = catalog.servers.get(tool.server)
  const isLearned = output === undefined && server !== undefined && mayLearn(catalog, server)
  const returns = isLearned ? scripts?.shapes.returns(tool.path) : undefined
  return declarationOf({ name: pathOf(tool), input: inputSchema, output }, DECLARATION_TOKENS, returns)
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/

/** The expression for a tool in a script: `tools.github.get_issue`, `tools["my-server"].run`. */
function pathOf({ path }: ToolRoute): string {
  const { server, tool } = parseToolPath(path) ?? { server: path, tool: '' }
  const part = (name: string) => (IDENTIFIER.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`)
  return `tools${part(server)}${part(tool)}`
}
