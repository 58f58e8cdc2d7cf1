/** Reads `select:a,b`: several tools by their paths or names in one query. Pure. */
import { nameLetters } from '../../../core/catalog/names.ts'
import { type Catalog, isShown } from '../../catalog/catalog.ts'
import type { ToolRoute } from '../../catalog/server-part.ts'
import { nearlyTool } from '../calling/find-called.ts'
import { meantServer } from '../calling/targets.ts'
import type { Work } from '../meta-tool.ts'

const SELECT = 'select:'
/** The rest of the names is ignored. */
const MAX_SELECTED = 500

/** Whether a query begins with `select:`, in any case. */
export function isSelection(query: string): boolean {
  return query.slice(0, SELECT.length).toLowerCase() === SELECT
}

/** The names in a selection, trimmed. */
export function selectedNames(query: string): string[] {
  const names = query.slice(SELECT.length).split(',', MAX_SELECTED)
  return names.map(name => name.trim()).filter(name => name !== '')
}

/** `queries`: without selections, the ordinary ones first; `unknown`: selected names, and paths, that no tool has; `left`: how many selected tools are too many. */
export type Expanded = { queries: string[]; unknown: string[]; left: number }

/**
 * The queries with each selection replaced by the paths of the selected tools; at most `most`. A name that several servers use selects the tools
 * of all of them. If no tool has any of the names, they are searched as they are.
 */
export function expandSelections(
  work: Pick<Work, 'catalog' | 'once'>,
  queries: readonly string[],
  most: number,
): Expanded {
  const unknown = new Set<string>()
  const ordinary = new Set(queries.filter(query => !isSelection(query)))
  for (const query of ordinary) if (isMissingPath(work, query)) unknown.add(query)
  const selected = queries.filter(isSelection).flatMap(query =>
    selectedNames(query).flatMap(name => {
      const tools = toolsNamed(work, name).filter(({ server }) => isShown(work.catalog, server))
      if (tools.length === 0) unknown.add(name)
      return tools.map(({ path }) => path)
    }),
  )
  const more = [...new Set(selected)].filter(path => !ordinary.has(path))
  const first = [...ordinary].slice(0, most)
  const left = Math.max(0, first.length + more.length - most)
  const all = [...first, ...more]
  return {
    queries: (all.length > 0 ? all : [...unknown]).slice(0, most),
    unknown: [...unknown].slice(0, most),
    left,
  }
}

/** A path such as `forge:create_issue`; no search with words. */
const PATH = /^[a-z0-9][-a-z0-9]*:[^\s/]\S*$/

/** Whether a query is a path of a known server, but of no tool or prompt of it that can be found, with or without a pointer into its schema. */
export function isMissingPath(work: Pick<Work, 'catalog' | 'once'>, query: string): boolean {
  if (isSelection(query) || !PATH.test(query)) return false
  const [path = ''] = query.split('#', 1)
  const { catalog } = work
  if (!meantServer(catalog, path)) return false
  const isFound = [path, query].some(name =>
    toolsNamed(work, name).some(({ server }) => isShown(catalog, server)),
  )
  const letters = nameLetters(path)
  return !isFound && !catalog.prompts.some(prompt => nameLetters(prompt.path) === letters)
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
  const nearly = nearlyTool(work, wanted)
  return nearly ? [nearly] : []
}
