/** Finds the tool or prompt that a name in a request means, or says why there is none. Pure. */
import type { RouterServer } from '../../core/catalog/router-config.ts'
import { type Catalog, isShown } from '../catalog/catalog.ts'
import { nearestNames } from '../catalog/search/nearest.ts'
import type { PromptRoute, ToolRoute } from '../catalog/server-part.ts'
import type { Refusal } from './answers.ts'
import { quote, stateSentence } from './sentences.ts'

const MOST_NAMES = 3

export type ToolTarget = { server: RouterServer; tool: ToolRoute }
export type PromptTarget = { server: RouterServer; prompt: PromptRoute }

/** By `server:tool`, `server__tool`, or the tool's own name where only one server has it; prompts likewise. */
export function findTarget(catalog: Catalog, name: string): ToolTarget | PromptTarget | Refusal {
  const refused = stateRefusal(catalog, name)
  if (refused) return refused
  const named =
    catalog.toolsByOwnName.get(name)?.filter(candidate => isShown(catalog, candidate.server)) ?? []
  const prompt = catalog.promptByName.get(name)
  const tool = catalog.toolByName.get(name) ?? (prompt || named.length > 1 ? undefined : named[0])
  if (tool) return { server: serverOf(catalog, tool.server), tool }
  if (prompt) return { server: serverOf(catalog, prompt.server), prompt }
  if (named.length > 1) return { refusal: ambiguous(name, named), outcome: 'rejected' }
  return unknownTool(catalog, name)
}

/** Why the server of a path cannot be used in the state it is in, or has no list yet; undefined where it can be. */
export function stateRefusal(catalog: Catalog, path: string): Refusal | undefined {
  const tool = catalog.toolByName.get(path)
  const server = catalog.servers.get(tool?.server ?? serverNameOf(path))
  if (!server || (!server.status.hidden && catalog.catalogs.has(server.name))) return undefined
  return { refusal: stateSentence(server), outcome: 'unavailable', server, tool: tool?.tool }
}

/** By `server:prompt` or `server__prompt`. */
export function findPrompt(catalog: Catalog, name: string): PromptTarget | Refusal {
  const refused = stateRefusal(catalog, name)
  if (refused) return refused
  const prompt = catalog.promptByName.get(name)
  if (prompt) return { server: serverOf(catalog, prompt.server), prompt }
  const names = catalog.prompts
    .filter(({ server }) => isShown(catalog, server))
    .map(({ listedName }) => listedName)
  return {
    refusal: `There is no prompt ${quote(name)}.${nearest(name, names)}`,
    outcome: 'rejected',
    server: catalog.servers.get(serverNameOf(name)),
  }
}

/** A server by its name, where it may be used. */
export function findServer(catalog: Catalog, name: string): RouterServer | Refusal {
  const server = catalog.servers.get(name)
  if (server?.status.hidden) return { refusal: stateSentence(server), outcome: 'unavailable', server }
  if (server) return server
  const names = [...catalog.servers.values()].filter(({ status }) => !status.hidden).map(known => known.name)
  return { refusal: `There is no server ${quote(name)}.${nearest(name, names)}`, outcome: 'rejected' }
}

/** Of an item in the catalog, whose server is in it too. */
function serverOf(catalog: Catalog, name: string): RouterServer {
  return catalog.servers.get(name) as RouterServer
}

/** What stands before the first `:` or `__`. */
function serverNameOf(path: string): string {
  return path.split(/:|__/, 1)[0] ?? ''
}

function ambiguous(name: string, tools: readonly ToolRoute[]): string {
  const paths = tools.slice(0, MOST_NAMES).map(tool => tool.path)
  const more = tools.length > MOST_NAMES ? `, and ${tools.length - MOST_NAMES} more` : ''
  return `${quote(name)} is a tool of several servers: ${paths.join(', ')}${more}. Give the whole tool_path.`
}

/** Names the nearest tools: those of the server that was meant, then others. */
function unknownTool(catalog: Catalog, name: string): Refusal {
  const server = catalog.servers.get(serverNameOf(name))
  const shown = catalog.tools.filter(tool => isShown(catalog, tool.server))
  const isOwn = (tool: ToolRoute): boolean => tool.server === server?.name
  const own = shown.filter(isOwn).map(tool => tool.path)
  const others = () => shown.filter(tool => !isOwn(tool)).map(tool => tool.path)
  const hint = nearest(name, own, others)
  const search = hint === '' ? 'Search' : 'Or search'
  return {
    refusal: `There is no tool ${quote(name)}.${hint} ${search} with discover_mcp_tools.`,
    outcome: 'rejected',
    server,
  }
}

/** Three of `names`; what is missing comes from `others`. */
function nearest(name: string, names: readonly string[], others: () => readonly string[] = () => []): string {
  const found = nearestNames(name, names, MOST_NAMES)
  if (found.length < MOST_NAMES) found.push(...nearestNames(name, others(), MOST_NAMES - found.length))
  return found.length > 0 ? ` The nearest: ${found.join(', ')}.` : ''
}
