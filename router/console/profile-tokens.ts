/** The tokens of tools/list in each profile. They are counted once for each catalog: with thousands of tools that takes milliseconds. */
import type { ConsoleState } from '../../core/console/shapes.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { exposedTokens } from '../meta/profiles/profiles.ts'

export type ProfileTokens = (catalog: Catalog) => ConsoleState['tokens']['profiles']

export function createProfileTokens(): ProfileTokens {
  const ofCatalogs = new WeakMap<Catalog, ConsoleState['tokens']['profiles']>()
  return catalog => {
    const known = ofCatalogs.get(catalog)
    if (known) return known
    const counted = {
      hierarchical: exposedTokens(catalog, 'hierarchical'),
      search: exposedTokens(catalog, 'search'),
      registry: exposedTokens(catalog, 'registry'),
      direct: exposedTokens(catalog, 'direct'),
      ...(catalog.config.code && { code: exposedTokens(catalog, 'code') }),
    }
    ofCatalogs.set(catalog, counted)
    return counted
  }
}
