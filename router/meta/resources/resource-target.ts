/** Finds the server that a resource's URI refers to, in any of its forms. Pure. */
import { parseResource } from '../../../core/catalog/names.ts'
import type { RouterServer } from '../../../core/catalog/router-config.ts'
import { mayRead } from '../../access/reachable.ts'
import { type Catalog, isShown } from '../../catalog/catalog.ts'
import { nearestNames } from '../../catalog/search/nearest.ts'
import type { ResourceRoute } from '../../catalog/server-part.ts'
import type { Refusal } from '../wording/answers.ts'
import { quote, stateSentence } from '../wording/sentences.ts'
import { mayMatch } from './template-match.ts'

const MAX_NAMES = 3

/** `uri`: as the upstream knows it. It may be absent from the lists, since it may match a template. */
export type ResourceTarget = { server: RouterServer; uri: string }

/**
 * Finds a resource by `server|uri`, `server+uri`, `ui://server/…`, and an upstream's own URI if only one server lists it, or else has a template
 * for it.
 */
export function findResource(catalog: Catalog, text: string): ResourceTarget | Refusal {
  const parsed = parseResource(text)
  const server = parsed && catalog.servers.get(parsed.server)
  if (server?.status.hidden) return { refusal: stateSentence(server), outcome: 'unavailable', server }
  if (parsed && server && mayRead(catalog, server, parsed.uri)) return { server, uri: parsed.uri }
  const own = ownResources(catalog, text)
  const servers = new Set(own.map(resource => resource.server))
  const [name, ...others] = servers
  const only = name === undefined || others.length > 0 ? undefined : catalog.servers.get(name)
  if (only && mayRead(catalog, only, text)) return { server: only, uri: text }
  const nearest = name === undefined ? nearestUris(catalog, text) : own.map(({ shownUri }) => shownUri)
  const hint = nearest.length > 0 ? ` The nearest: ${nearest.slice(0, MAX_NAMES).join(', ')}.` : ''
  return {
    refusal: `There is no resource ${quote(text)}.${hint} URIs begin with their server: "server|uri".`,
    outcome: 'rejected',
    asked: { kind: 'uri', text },
  }
}

/** Resources with exactly this URI; otherwise the templates that it may match. */
function ownResources(catalog: Catalog, uri: string): readonly ResourceRoute[] {
  const shown = (resource: ResourceRoute): boolean => isShown(catalog, resource.server)
  const exact = (catalog.resourcesByOwnUri.get(uri) ?? []).filter(shown)
  return exact.length > 0
    ? exact
    : catalog.templates.filter(template => mayMatch(template.uri, uri) && shown(template))
}

function nearestUris(catalog: Catalog, text: string): string[] {
  const shown = catalog.resources.filter(({ server }) => isShown(catalog, server))
  return nearestNames(
    text,
    shown.map(({ shownUri }) => shownUri),
    MAX_NAMES,
  )
}
