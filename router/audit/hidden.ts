/** Finds, in the whole catalog, what a name refers to if its caller may not use it. Only audit and metrics may distinguish this from an unknown name. Pure. */
import { parseListedName, parseResource, parseToolPath } from '../../core/catalog/names.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { PromptRoute, ToolRoute } from '../catalog/server-part.ts'
import { nearlyNamed } from '../meta/calling/find-called.ts'
import type { Once } from '../meta/once.ts'
import { mayMatch } from '../meta/resources/template-match.ts'
import type { Asked } from '../observer.ts'
import { shownUri, type Target } from './line.ts'

/** Catalogs: the whole one, and what the caller sees of it. */
export type Catalogs = { whole: Catalog; seen: Catalog }

/** What a request named; undefined if nothing has this name for any caller, or the caller may use it. */
export function hiddenTarget(
  catalogs: Catalogs,
  { kind, text, server }: Asked,
  once: Once,
): Target | undefined {
  switch (kind) {
    case 'name':
    case 'prompt':
      return hiddenItem(catalogs, server === undefined ? text : `${server}:${text}`, once)
    case 'server':
      return hiddenServer(catalogs, text)
    case 'uri':
      return hiddenResource(catalogs, text, server)
  }
}

/** A tool, a prompt, or any name under a server that the caller does not see. */
function hiddenItem({ whole, seen }: Catalogs, name: string, once: Once): Target | undefined {
  const tool = whole.toolByName.get(name) ?? whole.toolsByOwnName.get(name)?.[0]
  if (tool && !seen.toolByName.has(tool.path)) return targetOf(tool)
  const prompt = whole.promptByName.get(name) ?? whole.promptsByOwnName.get(name)?.[0]
  if (prompt && !seen.promptByName.has(prompt.path)) return targetOf(prompt)
  const near = tool || prompt ? undefined : nearlyNamed({ catalog: whole, once }, name)
  if (near && !seen.toolByName.has(near.path) && !seen.promptByName.has(near.path)) return targetOf(near)
  const named = parseToolPath(name)?.server ?? parseListedName(name)?.server
  return named === undefined ? undefined : hiddenServer({ whole, seen }, named)
}

function targetOf(route: ToolRoute | PromptRoute): Target {
  const { server } = route
  return 'tool' in route ? { server, tool: route.tool } : { server, prompt: route.prompt }
}

function hiddenServer({ whole, seen }: Catalogs, name: string): Target | undefined {
  return whole.servers.has(name) && !seen.servers.has(name) ? { server: name } : undefined
}

/** `server`: the one whose own endpoint was asked. */
function hiddenResource({ whole }: Catalogs, text: string, server: string | undefined): Target | undefined {
  if (server !== undefined) return { server, uri: shownUri(text) }
  // Always searched: otherwise, with many templates, the time of an answer would reveal that a server exists.
  const [item] = whole.resourcesByOwnUri.get(text) ?? whole.templates.filter(({ uri }) => mayMatch(uri, text))
  const parsed = parseResource(text)
  if (parsed && whole.servers.has(parsed.server)) return { server: parsed.server, uri: shownUri(parsed.uri) }
  return item && { server: item.server, uri: shownUri(text) }
}
