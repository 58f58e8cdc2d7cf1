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
  const tool = catalog.toolByName.get(name)
  if (tool) return toolTarget(catalog, tool)
  const prompt = catalog.promptByName.get(name)
  if (prompt) return promptTarget(catalog, prompt)
  const named =
    catalog.toolsByOwnName.get(name)?.filter(candidate => isShown(catalog, candidate.server)) ?? []
  if (named[0] && named.length === 1) return toolTarget(catalog, named[0])
  if (named.length > 1) return { refusal: ambiguous(name, named), outcome: 'rejected' }
  return { refusal: unknown(catalog, name), outcome: 'rejected' }
}

/** By `server:prompt` or `server__prompt`. */
export function findPrompt(catalog: Catalog, name: string): PromptTarget | Refusal {
  const prompt = catalog.promptByName.get(name)
  if (prompt) return promptTarget(catalog, prompt)
  const names = catalog.prompts
    .filter(({ server }) => isShown(catalog, server))
    .map(({ listedName }) => listedName)
  return { refusal: `There is no prompt ${quote(name)}.${nearest(name, names)}`, outcome: 'rejected' }
}

/** A server by its name, where it may be used. */
export function findServer(catalog: Catalog, name: string): RouterServer | Refusal {
  const server = catalog.servers.get(name)
  if (server) return usable(server) ?? server
  const names = [...catalog.servers.values()].filter(({ status }) => !status.hidden).map(known => known.name)
  return { refusal: `There is no server ${quote(name)}.${nearest(name, names)}`, outcome: 'rejected' }
}

function toolTarget(catalog: Catalog, tool: ToolRoute): ToolTarget | Refusal {
  const server = catalog.servers.get(tool.server) as RouterServer
  return usable(server, tool.tool) ?? { server, tool }
}

function promptTarget(catalog: Catalog, prompt: PromptRoute): PromptTarget | Refusal {
  const server = catalog.servers.get(prompt.server) as RouterServer
  return usable(server) ?? { server, prompt }
}

function usable(server: RouterServer, tool?: string): Refusal | undefined {
  return server.status.hidden
    ? { refusal: stateSentence(server), outcome: 'unavailable', server, tool }
    : undefined
}

function ambiguous(name: string, tools: readonly ToolRoute[]): string {
  const paths = tools.slice(0, MOST_NAMES).map(tool => tool.path)
  const more = tools.length > MOST_NAMES ? `, and ${tools.length - MOST_NAMES} more` : ''
  return `${quote(name)} is a tool of several servers: ${paths.join(', ')}${more}. Give the whole tool_path.`
}

function unknown(catalog: Catalog, name: string): string {
  const server = catalog.servers.get(name.split(/:|__/, 1)[0] ?? '')
  if (server && !catalog.catalogs.has(server.name)) return stateSentence(server)
  if (server?.status.hidden) return stateSentence(server)
  const known = server && catalog.parts.find(part => part.server === server.name)
  const tools = known?.tools.length
    ? known.tools
    : catalog.tools.filter(tool => isShown(catalog, tool.server))
  const paths = tools.map(tool => tool.path)
  return `There is no tool ${quote(name)}.${nearest(name, paths)} Or search with discover_mcp_tools.`
}

function nearest(name: string, names: readonly string[]): string {
  const found = nearestNames(name, names, MOST_NAMES)
  return found.length > 0 ? ` The nearest: ${found.join(', ')}.` : ''
}
