/** What the operator hands to routers through ConfigMaps: the router config, and which slices and Secrets belong to it. Types only. */
import type { RouterConfig } from './router-config.ts'

/** The content of the ConfigMap `<gateway>-router`. */
export type RouterFeed = {
  config: RouterConfig
  /** By server name: the set of slices to read; a server without an entry has no list yet. */
  slices: Record<string, SliceSet>
  /** By name, every Secret that an endpoint refers to, with the resourceVersion that was seen: another one means read again. */
  secrets: Record<string, string>
}

/** The ConfigMaps `<server>-catalog-0` to `<server>-catalog-<parts - 1>`. */
export type SliceSet = {
  /** The catalog's version: see version.ts. */
  digest: string
  parts: number
}

/** The header of a slice: a set is valid if its parts agree in everything but `part`. */
export type SliceHeader = {
  format: number
  /** The version of the server catalog that all parts make together. */
  digest: string
  parts: number
  /** From 0. */
  part: number
  /** Which encoder made the vectors; absent where there are none. */
  encoder?: string
}
