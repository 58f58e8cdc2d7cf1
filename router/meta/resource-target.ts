/** Finds the server that a resource's URI means, in any of its forms. Pure. */
import { parseResource } from '../../core/catalog/names.ts'
import type { RouterServer } from '../../core/catalog/router-config.ts'
import { type Catalog, isShown } from '../catalog/catalog.ts'
import { nearestNames } from '../catalog/search/nearest.ts'
import type { Refusal } from './answers.ts'
import { quote, stateSentence } from './sentences.ts'

const MOST_NAMES = 3

/** `uri` is the upstream's own; it need not be in any list, since a template may stand behind it. */
export type ResourceTarget = { server: RouterServer; uri: string }

/** From `server|uri`, `server+uri`, `ui://server/…`, or an upstream's own URI that only one server lists. */
export function findResource(catalog: Catalog, text: string): ResourceTarget | Refusal {
  const parsed = parseResource(text)
  const server = parsed && catalog.servers.get(parsed.server)
  if (server?.status.hidden) return { refusal: stateSentence(server), outcome: 'unavailable', server }
  if (parsed && server) return { server, uri: parsed.uri }
  const shown = catalog.resources.filter(resource => isShown(catalog, resource.server))
  const own = shown.filter(resource => resource.uri === text)
  const only = own.length === 1 ? catalog.servers.get(own[0]?.server as string) : undefined
  if (only) return { server: only, uri: text }
  const nearest =
    own.length > 1
      ? own.slice(0, MOST_NAMES).map(({ shownUri }) => shownUri)
      : nearestNames(
          text,
          shown.map(({ shownUri }) => shownUri),
          MOST_NAMES,
        )
  const hint = nearest.length > 0 ? ` The nearest: ${nearest.join(', ')}.` : ''
  return {
    refusal: `There is no resource ${quote(text)}.${hint} URIs begin with their server: "server|uri".`,
    outcome: 'rejected',
  }
}
