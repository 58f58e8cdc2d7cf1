/** Reads `select:a,b`: several tools by their paths or names in one query. Pure. */
import { type Catalog, isShown } from '../../catalog/catalog.ts'
import type { ToolRoute } from '../../catalog/server-part.ts'
import { nearlyNamed } from '../calling/find-called.ts'
import type { Work } from '../meta-tool.ts'

const SELECT = 'select:'

/** Whether a query begins with `select:`, in any case. */
export function isSelection(query: string): boolean {
  return query.slice(0, SELECT.length).toLowerCase() === SELECT
}

/** The names in a selection, trimmed. */
export function selectedNames(query: string): string[] {
  const names = query.slice(SELECT.length).split(',')
  return names.map(name => name.trim()).filter(name => name !== '')
}

/**
 * The queries with each selection replaced by the paths of the selected tools, or by the name itself if no tool has it; at most `most`. A
 * name that several servers use selects the tools of all of them.
 */
export function expandSelections(
  work: Pick<Work, 'catalog' | 'once'>,
  queries: readonly string[],
  most: number,
): string[] {
  const expanded = queries.flatMap(query => {
    if (!isSelection(query)) return [query]
    return selectedNames(query).flatMap(name => {
      const tools = toolsNamed(work, name).filter(({ server }) => isShown(work.catalog, server))
      return tools.length > 0 ? tools.map(({ path }) => path) : [name]
    })
  })
  return [...new Set(expanded)].slice(0, most)
}

/**
 * All tools with a name: path, listed name, or the tool's name at its server, which several servers may use; else the only one whose name
 * differs just in case and separators. `wanted`: the name with its server, if that is known.
 */
export function toolsNamed(work: Pick<Work, 'catalog' | 'once'>, name: string, wanted = name): ToolRoute[] {
  const { toolByName, toolsByOwnName }: Catalog = work.catalog
  const whole = toolByName.get(wanted)
  const named = whole ? [whole] : (toolsByOwnName.get(name) ?? [])
  if (named.length > 0) return [...named]
  const nearly = nearlyNamed(work, wanted)
  return nearly ? [nearly] : []
}
