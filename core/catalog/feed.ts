/** What the operator passes to routers through ConfigMaps: the router config, and its slices and Secrets. Types only. */
import type { RouterConfig } from './router-config.ts'

/** The content of the ConfigMap `<gateway>-router`. */
export type RouterFeed = {
  config: RouterConfig
  /** By server name: the set of slices to read; a server without an entry has not been discovered yet. */
  slices: Record<string, SliceSet>
  /** A digest of the content, by name, of every Secret that an endpoint refers to: if it changes, the router reads the Secret again. */
  secrets: Record<string, string>
}

/** The ConfigMaps `<server>-catalog-0` to `<server>-catalog-<parts - 1>`. */
export type SliceSet = {
  /** The catalog's version: see version.ts. */
  digest: string
  parts: number
}

/** The header of a slice: a set is valid if its headers are equal except for `part`. */
export type SliceHeader = {
  format: number
  /** The version of the server catalog that all parts together contain. */
  digest: string
  parts: number
  /** From 0. */
  part: number
  /** The encoder that made the vectors; absent if there are none. */
  encoder?: string
}
