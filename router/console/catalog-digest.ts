/** Digests of the catalogs that callers see, by which a page notices that its lists are out of date. */
import { hash } from 'node:crypto'
import type { RouterServer } from '../../core/catalog/router-config.ts'
import { ownValue } from '../../core/own-value.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { ServerPart } from '../catalog/server-part.ts'

/** 32 hexadecimal digits. */
export type CatalogDigest = (catalog: Catalog) => string

const DIGITS = 32

/**
 * Returns a function that gives the digest of everything in a catalog that the console lists or searches. It covers only what the caller sees,
 * and therefore does not use the digests of lists, which would show when something hidden changes. Generations are not part of it: replicas may
 * number the same catalog differently. Catalogs share most of their items with the ones that they replace, so each item is digested once.
 */
export function createCatalogDigest(): CatalogDigest {
  const ofCatalogs = new WeakMap<Catalog, string>()
  const ofItems = new WeakMap<object, string>()
  const digestOf = (item: object, content: unknown): string => {
    const digest = ofItems.get(item) ?? hash('sha256', JSON.stringify(content), 'base64')
    ofItems.set(item, digest)
    return digest
  }

  function itemsOf({ tools, held, prompts, resources, templates }: ServerPart, server: RouterServer) {
    const { overrides } = server.tools
    return [
      tools.map(one => digestOf(one, [one.path, one.definition, one.tokens, ownValue(overrides, one.tool)])),
      held.map(one => digestOf(one, [one.path, one.definition, ownValue(overrides, one.tool)])),
      prompts.map(one => digestOf(one, [one.path, one.definition])),
      [resources, templates].map(all => all.map(one => digestOf(one, [one.uri, one.definition]))),
    ]
  }

  return catalog => {
    const known = ofCatalogs.get(catalog)
    if (known !== undefined) return known
    const { profile, budget, code, servers } = catalog.config
    const parts = new Map(catalog.parts.map(part => [part.server, part]))
    const content = servers.map(server => {
      const { name, title, description, category, keywords, status } = server
      const { serverInfo, instructions, capabilities } = catalog.catalogs.get(name) ?? {}
      const part = parts.get(name)
      return [
        ...[name, title, description, category, keywords, status.hidden],
        ...[serverInfo, instructions, capabilities, part && itemsOf(part, server)],
      ]
    })
    const text = JSON.stringify([profile, budget, code !== undefined, content])
    const digest = hash('sha256', text, 'hex').slice(0, DIGITS)
    ofCatalogs.set(catalog, digest)
    return digest
  }
}
