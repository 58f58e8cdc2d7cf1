/** Finds the tool or prompt that a name in a request refers to, or explains why there is none. Pure. */
import { parseListedName, parseToolPath, type ToolRef } from '../../../core/catalog/names.ts'
import type { RouterServer } from '../../../core/catalog/router-config.ts'
import { type Catalog, isFound, isShown } from '../../catalog/catalog.ts'
import { nearestNames, SIMILAR } from '../../catalog/search/nearest.ts'
import type { PromptRoute, ToolRoute } from '../../catalog/server-part.ts'
import type { Refusal } from '../wording/answers.ts'
import { type ProfileWords, sentenceOf } from '../wording/profile-words.ts'
import { heldSentence, quote, stateSentence } from '../wording/sentences.ts'

const MAX_NAMES = 3
/** A text that may be meant as the name of a server. */
const SERVER_NAME = /^[a-z0-9][-_a-z0-9]{0,62}$/i

export type ToolTarget = { server: RouterServer; tool: ToolRoute }
export type PromptTarget = { server: RouterServer; prompt: PromptRoute }

/**
 * Finds by `server:tool`, `server__tool`, or the tool's own name if only one server has it; likewise prompts. A refusal says what to
 * do next, in the terms of the profile.
 */
export function findTarget(
  catalog: Catalog,
  name: string,
  words: ProfileWords,
): ToolTarget | PromptTarget | Refusal {
  const refused = stateRefusal(catalog, name)
  if (refused) return refused
  const named =
    catalog.toolsByOwnName.get(name)?.filter(candidate => isShown(catalog, candidate.server)) ?? []
  const prompt = catalog.promptByName.get(name)
  const tool = catalog.toolByName.get(name) ?? (prompt || named.length > 1 ? undefined : named[0])
  if (tool) return { server: serverOf(catalog, tool.server), tool }
  if (prompt) return { server: serverOf(catalog, prompt.server), prompt }
  const held = heldRefusal(catalog, name)
  if (held) return held
  if (named.length > 1) return { refusal: ambiguous(name, named, words), outcome: 'rejected' }
  return unknownTool(catalog, name, words)
}

/** The refusal if an existing tool must not be called: it changed since it was approved. `name`: its path or its listed name. */
export function heldRefusal(catalog: Catalog, name: string): Refusal | undefined {
  const held = catalog.heldByName.get(name)
  if (!held) return undefined
  const server = serverOf(catalog, held.server)
  return { refusal: heldSentence(server, held), outcome: 'unavailable', server, tool: held.tool }
}

/** The refusal if the server in a path cannot be used in its state, or has no list of tools yet; undefined if it can be used. */
export function stateRefusal(catalog: Catalog, path: string): Refusal | undefined {
  const tool = catalog.toolByName.get(path)
  const server = tool ? serverOf(catalog, tool.server) : meantServer(catalog, path)
  if (!server || (!server.status.hidden && catalog.catalogs.has(server.name))) return undefined
  return { ...stateRefusalOf(server), tool: tool?.tool }
}

/** Finds a prompt by `server:prompt`, `server__prompt`, or the prompt's own name if only one server has it. */
export function findPrompt(catalog: Catalog, name: string): PromptTarget | Refusal {
  const refused = stateRefusal(catalog, name)
  if (refused) return refused
  const shown = ({ server }: PromptRoute) => isShown(catalog, server)
  const named = catalog.promptsByOwnName.get(name)?.filter(shown) ?? []
  const prompt = catalog.promptByName.get(name) ?? (named.length === 1 ? named[0] : undefined)
  if (prompt) return { server: serverOf(catalog, prompt.server), prompt }
  const candidates = named.length > 1 ? named : catalog.prompts.filter(shown)
  const hint = nearest(
    name,
    candidates.map(({ listedName }) => listedName),
  )
  return {
    refusal: `There is no prompt ${quote(name)}.${hint}`,
    outcome: 'rejected',
    server: meantServer(catalog, name),
    asked: { kind: 'prompt', text: name },
  }
}

/** Finds a server by name, if it can be used. `finding`: as in unknownServer. */
export function findServer(catalog: Catalog, name: string, finding?: string): RouterServer | Refusal {
  const server = catalog.servers.get(name)
  if (!server) return unknownServer(catalog, name, finding)
  return server.status.hidden ? stateRefusalOf(server) : server
}

/** The refusal for a server that cannot be used in its state. */
export function stateRefusalOf(server: RouterServer): Refusal {
  return { refusal: stateSentence(server), outcome: 'unavailable', server }
}

/** The refusal for a name that no server has; suggests similar names. `finding`: what to say if there are none. */
export function unknownServer(catalog: Catalog, name: string, finding = ''): Refusal {
  const hint = hintOf(similarServers(catalog, name))
  return {
    refusal: `There is no server ${quote(name)}.${hint || finding}`,
    outcome: 'rejected',
    asked: { kind: 'server', text: name },
  }
}

function similarServers(catalog: Catalog, name: string): string[] {
  return nearestNames(name, shownServers(catalog), MAX_NAMES, SIMILAR)
}

/** The names of the servers that can be used. */
export function shownServers({ servers }: Catalog): string[] {
  return [...servers.values()].filter(({ status }) => !status.hidden).map(({ name }) => name)
}

/** The server of an item in the catalog; it is always in the catalog too. */
function serverOf(catalog: Catalog, name: string): RouterServer {
  return catalog.servers.get(name) as RouterServer
}

/** The server with which a path or listed name begins. */
export function meantServer({ servers }: Catalog, name: string): RouterServer | undefined {
  const { server = '' } = parseToolPath(name) ?? {}
  return servers.get(server) ?? servers.get(parseListedName(name)?.server ?? '')
}

/** The refusal for a name that tools of several servers have. */
function ambiguous(name: string, tools: readonly ToolRoute[], words: ProfileWords): string {
  const paths = tools.slice(0, MAX_NAMES).map(tool => tool.path)
  const more = tools.length > MAX_NAMES ? `, and ${tools.length - MAX_NAMES} more` : ''
  return `${quote(name)} is a tool of several servers: ${paths.join(', ')}${more}. ${words.wholeName}`
}

/** Suggests the nearest tools: those of the named server first, then others. For an unknown server, similar servers. */
function unknownTool(catalog: Catalog, name: string, words: ProfileWords): Refusal {
  const server = meantServer(catalog, name)
  const path = parseToolPath(name) ?? parseListedName(name)
  if (!server && path && SERVER_NAME.test(path.server)) {
    const refusal = sentenceOfUnknownServer(catalog, path, words)
    return { refusal, outcome: 'rejected', asked: { kind: 'name', text: name } }
  }
  const shown = catalog.tools.filter(tool => isFound(catalog, tool))
  const isOwn = (tool: ToolRoute): boolean => tool.server === server?.name
  const own = shown.filter(isOwn).map(tool => tool.path)
  const others = () => shown.filter(tool => !isOwn(tool)).map(tool => tool.path)
  const hint = nearest(name, own, others)
  return {
    refusal: `There is no tool ${quote(name)}.${hint} ${orFinding(hint, words)}`,
    outcome: 'rejected',
    server,
    asked: { kind: 'name', text: name },
  }
}

/** Suggests similar servers, each with its tool of that name if it has one; otherwise also the nearest server that has such a tool. */
function sentenceOfUnknownServer(catalog: Catalog, { server, tool }: ToolRef, words: ProfileWords): string {
  const pathOf = (name: string): string | undefined => catalog.toolByName.get(`${name}:${tool}`)?.path
  const near = similarServers(catalog, server)
  if (!near.some(pathOf)) near.push(...nearestNames(server, shownServers(catalog).filter(pathOf), 1))
  const hint = hintOf(near.map(name => pathOf(name) ?? name))
  return `There is no server ${quote(server)}.${hint} ${orFinding(hint, words)}`
}

/** The words of the profile for how to find tools, as a sentence that follows `hint`. */
function orFinding(hint: string, { finding }: ProfileWords): string {
  return sentenceOf(hint === '' ? finding : `or ${finding}`)
}

/** Suggests the three of `names` nearest to a name; if there are fewer, fills up with the nearest of `others`. */
export function nearest(
  name: string,
  names: readonly string[],
  others: () => readonly string[] = () => [],
): string {
  const found = nearestNames(name, names, MAX_NAMES)
  if (found.length < MAX_NAMES) found.push(...nearestNames(name, others(), MAX_NAMES - found.length))
  return hintOf(found)
}

function hintOf(names: readonly string[]): string {
  return names.length > 0 ? ` The nearest: ${names.join(', ')}.` : ''
}
