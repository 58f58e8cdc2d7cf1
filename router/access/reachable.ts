/** Whether a caller may read a URI, which need not be listed: it may be the expansion of a template. Pure. */
import type { RouterServer } from '../../core/catalog/router-config.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { seesResource } from './view.ts'

/** `uri`: as the upstream knows it. */
export function mayRead({ view }: Pick<Catalog, 'view'>, server: RouterServer, uri: string): boolean {
  return !view || seesResource(view, server, uri)
}
