/** The page that is shown: `#/servers/memory?tab=log` is the page `servers`, the item `memory`, and the choice `tab=log`. Pure. */
import { percentDecoded } from '../core/percent-decoded.ts'

export type Route = { page: string; item?: string; chosen: Readonly<Record<string, string>> }

export const PAGES = [
  'overview',
  'servers',
  'tools',
  'search',
  'try',
  'log',
  'metrics',
  'resources',
  'script',
  'gateways',
] as const
export type Page = (typeof PAGES)[number]

/** An unknown page name means the overview. */
export function readRoute(hash: string): Route & { page: Page } {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split('?', 2)
  const [named = '', ...rest] = path.split('/')
  const page = PAGES.find(known => known === named) ?? 'overview'
  const item = rest.join('/')
  const chosen = Object.fromEntries(new URLSearchParams(query))
  return item === '' ? { page, chosen } : { page, item: percentDecoded(item) ?? item, chosen }
}

/** Leaves out empty choices. */
export function hashOf({ page, item, chosen = {} }: Partial<Route> & { page: Page }): string {
  const query = new URLSearchParams(Object.entries(chosen).filter(([, value]) => value !== '')).toString()
  const place = item === undefined ? '' : `/${encodeURIComponent(item.toWellFormed())}`
  return `#/${page}${place}${query === '' ? '' : `?${query}`}`
}
