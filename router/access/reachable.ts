/** Whether a caller may read a URI, which need not be listed: it may be the expansion of a template. Pure. */
import type { RouterServer } from '../../core/catalog/router-config.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { seesResource } from './view.ts'

const DECODINGS = 3
/** Segments and characters with which a URI can mean another one than the patterns were matched with. */
const TREACHEROUS = /(?:^|[/\\])\.{1,2}(?:[/\\?#]|$)|[\\\p{Cc}]/u

/** `uri`: the upstream's own. Every percent-decoded form of it must be granted, and none may climb out of its folder. */
export function mayRead({ view }: Pick<Catalog, 'view'>, server: RouterServer, uri: string): boolean {
  if (!view) return true
  const forms = formsOf(uri)
  const isGranted = (form: string) => !TREACHEROUS.test(form) && seesResource(view, server, form)
  return forms?.every(isGranted) ?? false
}

/** The URI and what it decodes to, step by step; undefined if it cannot be decoded, or not to an end. */
function formsOf(uri: string): string[] | undefined {
  const forms = [uri]
  for (let step = 0; step <= DECODINGS; step++) {
    const last = forms.at(-1) as string
    if (!last.includes('%')) return forms
    try {
      const decoded = decodeURIComponent(last)
      if (decoded === last) return forms
      forms.push(decoded)
    } catch {
      return undefined
    }
  }
  return undefined
}
