/** Makes and parses the names that agents see: tool paths, listed names and resource URIs. Pure. */
import { createHash } from 'node:crypto'

export type ToolRef = { server: string; tool: string }
export type ResourceRef = { server: string; uri: string }

/** The length of the longest listed name. */
export const MAX_LISTED_NAME = 64
const HASH_LENGTH = 8
const UI_SCHEME = 'ui://'
const SERVER_NAME = /^[a-z]([-a-z0-9]*[a-z0-9])?$/

/** `server:tool`, as meta-tools accept and return it. */
export function toolPath(server: string, tool: string): string {
  return `${server}:${tool}`
}

/** The server and tool of a tool path, split at the first colon; undefined if the text is not a tool path. */
export function parseToolPath(path: string): ToolRef | undefined {
  return splitAt(path, path.indexOf(':'), 1)
}

/** The server and tool of `server__tool`, split at the first `__`: correct for every name that `listedNames` did not change. */
export function parseListedName(name: string): ToolRef | undefined {
  return splitAt(name, name.indexOf('__'), 2)
}

/**
 * The listed names of tools, keyed by tool path: `server__tool`, in which `_` replaces characters outside of [A-Za-z0-9_-], at most 64 long.
 * A name that is too long, or that several tools would share, ends with a hash of its tool path; a tool whose own name
 * needed no change keeps it. The result does not depend on the order of `tools`.
 */
export function listedNames(tools: Iterable<ToolRef>): Map<string, string> {
  const candidates = new Map<string, Set<string>>()
  const unchanged = new Map<string, string>()
  for (const { server, tool } of tools) {
    const raw = `${server}__${tool}`
    const candidate = raw.replaceAll(/[^A-Za-z0-9_-]/g, '_')
    const path = toolPath(server, tool)
    if (raw === candidate && raw.length <= MAX_LISTED_NAME) unchanged.set(candidate, path)
    else {
      const paths = candidates.get(candidate) ?? new Set()
      candidates.set(candidate, paths.add(path))
    }
  }
  const names = new Map([...unchanged].map(([name, path]) => [path, name]))
  const taken = new Set(unchanged.keys())
  for (const [candidate, paths] of [...candidates].sort(byKey)) {
    const isFree = paths.size === 1 && candidate.length <= MAX_LISTED_NAME && !taken.has(candidate)
    for (const path of [...paths].sort()) {
      const name = isFree ? candidate : hashedName(candidate, path, taken)
      taken.add(name)
      names.set(path, name)
    }
  }
  return names
}

/** `server|uri`, as meta-tools show resources. */
export function resourcePath(server: string, uri: string): string {
  return `${server}|${uri}`
}

/** `server+uri`, a valid URI, as the protocol's own lists show resources; `ui://a/b` becomes `ui://<server>/a/b`. Templates likewise. */
export function exposedUri(server: string, uri: string): string {
  return uri.startsWith(UI_SCHEME)
    ? `${UI_SCHEME}${server}/${uri.slice(UI_SCHEME.length)}`
    : `${server}+${uri}`
}

/** The server, and the URI as the server knows it, from any of the forms above; undefined if the text does not begin with a server's name. */
export function parseResource(text: string): ResourceRef | undefined {
  if (text.startsWith(UI_SCHEME)) {
    const rest = text.slice(UI_SCHEME.length)
    const found = splitResource(rest, rest.indexOf('/'))
    return found && { server: found.server, uri: UI_SCHEME + found.uri }
  }
  return splitResource(text, text.search(/[+|]/))
}

function splitResource(text: string, at: number): ResourceRef | undefined {
  const server = text.slice(0, Math.max(0, at))
  return SERVER_NAME.test(server) ? { server, uri: text.slice(at + 1) } : undefined
}

function splitAt(text: string, at: number, length: number): ToolRef | undefined {
  if (at < 1 || at + length >= text.length) return undefined
  return { server: text.slice(0, at), tool: text.slice(at + length) }
}

function hashedName(candidate: string, path: string, taken: ReadonlySet<string>): string {
  for (let round = 0; ; round++) {
    const hash = createHash('sha256')
      .update(round === 0 ? path : `${path}#${round}`)
      .digest('hex')
      .slice(0, HASH_LENGTH)
    const name = `${candidate.slice(0, MAX_LISTED_NAME - HASH_LENGTH - 1)}_${hash}`
    if (!taken.has(name)) return name
  }
}

function byKey(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  return a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0
}

/** Separators within a text; not between digits and not at the ends: `-name` and `1_000` mean something else without them. */
const JOINT = /(?<=\p{L})[\s_-]+(?=[\p{L}\p{N}])|(?<=\p{N})[\s_-]+(?=\p{L})/gu

/** The text in lower case without word separators: equal for `pageId`, `page_id` and `Page-ID`. */
export function lettersOf(text: string): string {
  return text.replace(JOINT, '').toLowerCase()
}

/** The letters of a name, in which all punctuation separates words: equal for `forge:create_issue`, `forge/createIssue` and `Forge Create Issue`. */
export function nameLetters(name: string): string {
  return lettersOf(name.replace(/[^\p{L}\p{N}]+/gu, ' ').trim())
}
