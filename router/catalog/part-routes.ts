/** The routes of a part of a catalog: its lists, and the look-ups of the whole catalog, which find nothing outside of the part. Pure. */
import { BoundedMap } from '../../core/bounded-map.ts'
import { heldByNameIn, type Lookup, type Routes, routeOf } from './catalog.ts'
import type { ServerPart, ToolRoute } from './server-part.ts'

/** For how many names a look-up remembers its items. */
const MAX_NAMES = 256

/** `parts`: those of the part; `hasTool`: whether a tool is in it. Separate maps would take most of its memory and time. */
export function partOfRoutes(
  whole: Routes,
  parts: readonly ServerPart[],
  hasTool: (tool: ToolRoute) => boolean,
): Routes {
  const others = new Set<object>(
    parts.flatMap(({ prompts, resources, templates }) => [...prompts, ...resources, ...templates]),
  )
  const has = (item: object) => others.has(item)
  return {
    parts,
    tools: parts.flatMap(part => part.tools),
    toolByName: oneOf(whole.toolByName, hasTool),
    toolsByOwnName: someOf(whole.toolsByOwnName, hasTool),
    heldByName: heldByNameIn(parts),
    prompts: whole.prompts.filter(has),
    promptByName: oneOf(whole.promptByName, has),
    promptsByOwnName: someOf(whole.promptsByOwnName, has),
    resources: whole.resources.filter(has),
    templates: whole.templates.filter(has),
    resourcesByOwnUri: someOf(whole.resourcesByOwnUri, has),
    extras: whole.extras.filter(extra => has(routeOf(extra))),
  }
}

function oneOf<V>(whole: Lookup<V>, has: (item: V) => boolean): Lookup<V> {
  const get = (name: string): V | undefined => {
    const found = whole.get(name)
    return found !== undefined && has(found) ? found : undefined
  }
  return { get, has: name => get(name) !== undefined }
}

/** Remembers what a name has found: otherwise a name that many hidden items share would take longer each time than one that does not exist. */
function someOf<V>(whole: Lookup<readonly V[]>, has: (item: V) => boolean): Lookup<readonly V[]> {
  const known = new BoundedMap<readonly V[]>(MAX_NAMES)
  const get = (name: string): readonly V[] | undefined => {
    const all = whole.get(name)
    if (!all) return undefined
    let found = known.get(name)
    if (!found) {
      found = all.filter(has)
      known.set(name, found)
    }
    return found.length > 0 ? found : undefined
  }
  return { get, has: name => get(name) !== undefined }
}
