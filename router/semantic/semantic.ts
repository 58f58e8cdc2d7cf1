/** The search by meaning of one router: the encoder that its config asks for, what it has made, and how it does. */
import { type Clock, systemClock } from '../../core/async.ts'
import type { SearchConfig, SecretKey } from '../../core/catalog/router-config.ts'
import type { Vector } from '../../core/catalog/vectors.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'
import type { Log } from '../../core/log.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { QueryEncoder } from '../meta/meta-tool.ts'
import { Encoding, type EncodingOptions } from './encoding.ts'
import { type OpenCache, openEndpoint, QUERY_TIMEOUT_MS } from './endpoint.ts'
import type { Missed } from './query-encoder.ts'

/** What the owner of a router gives it for the search by meaning. */
export type SemanticDependencies = {
  /**
   * Opens the embedded encoder; throws, with a sentence, where it is not there: then it is asked again every few seconds, as
   * it is after `onLost`.
   */
  openEmbedded: (onLost: () => void) => Promise<SentenceEncoder>
  /** Whether the router has to encode what it serves; else the vectors come with the lists. */
  encodesDocuments: boolean
  /** The value of what a config refers to; undefined where it is not known. */
  secret: (key: SecretKey) => string | undefined
  /** Absent: a service's vectors are kept in memory alone. */
  openCache?: OpenCache
}

export type SearchStatus = {
  semantic: 'embedded' | 'endpoint' | 'off'
  /** Why it is off, or what is wrong. */
  reason?: string
  /** Texts whose vector is still to come. */
  pending: number
}

export type SemanticOptions = {
  /** Absent: by words alone. */
  means?: SemanticDependencies
  log: Log
  clock?: Clock
  /** `equip` has something new to give. */
  onVectors: () => void
  onMissed: (why: Missed) => void
}

export type Semantic = {
  /** Takes up what a config says of the search: the encoder is opened while the catalog is built. */
  adopt(search: SearchConfig): void
  /** The catalog with the vectors that are known so far. Yields often; one is driven at a time. */
  equip(catalog: Catalog): Generator<void, Catalog>
  encodeQuery: QueryEncoder
  status(): SearchStatus
  close(): Promise<void>
}

/** A search by words takes a millisecond: this is what better hits are worth. */
const EMBEDDED_TIMEOUT_MS = 250
/** Some hundred milliseconds of work. */
const EMBEDDED_BATCH = 8
const ENDPOINT_BATCH = 64

type Off = { kind: 'off'; reason: string }
type Way = { kind: 'endpoint'; url: string; model: string; apiKey?: string } | { kind: 'embedded' }

export function createSemantic(options: SemanticOptions): Semantic {
  const { log, clock = systemClock, means } = options
  let wanted: Way | Off = { kind: 'off', reason: 'there is no catalog yet' }
  let encoding: Encoding | undefined
  let served: Catalog | undefined
  let told = ''
  const ending = new Set<Promise<void>>()
  let known = { encoder: '', vectors: new Map<string, Vector>() }

  /** They outlive a new key of the same service. */
  function vectorsOf(encoder: string): Map<string, Vector> {
    if (known.encoder !== encoder) known = { encoder, vectors: new Map() }
    return known.vectors
  }

  const status = () => statusOf(wanted, encoding, served)

  /** A line for every change of it, once it is known. */
  function tell(): void {
    if (encoding && !encoding.isOpen() && encoding.trouble() === undefined) return
    const { semantic, reason } = status()
    if (told === JSON.stringify([semantic, reason])) return
    told = JSON.stringify([semantic, reason])
    const level = semantic !== 'off' && reason !== undefined ? 'warn' : 'info'
    log[level]({ semantic, reason }, 'search by meaning')
  }

  function adopt(search: SearchConfig): void {
    const next = wantedOf(search, means)
    if (JSON.stringify(next) === JSON.stringify(wanted)) return
    wanted = next
    const last = encoding?.close()
    if (last) ending.add(last.finally(() => ending.delete(last)))
    const { onVectors, onMissed } = options
    const shared = { log, clock, vectorsOf, onVectors, onTrouble: tell, onMissed }
    encoding =
      next.kind === 'off' || !means ? undefined : new Encoding({ ...shared, ...waysOf(next, means, clock) })
  }

  return {
    adopt,
    *equip(catalog) {
      served = encoding ? yield* encoding.equip(catalog) : { ...catalog, vectors: undefined }
      tell()
      return served
    },
    encodeQuery: async (text, signal) => encoding?.encodeQuery(text, signal),
    status,
    async close() {
      await Promise.all([encoding?.close(), ...ending])
    },
  }
}

function statusOf(
  wanted: Way | Off,
  encoding: Encoding | undefined,
  served: Catalog | undefined,
): SearchStatus {
  if (wanted.kind === 'off') return { semantic: 'off', reason: wanted.reason, pending: 0 }
  const reason = encoding?.trouble()
  if (wanted.kind === 'endpoint' || encoding?.isOpen())
    return { semantic: wanted.kind, reason, pending: pendingOf(served) }
  return reason
    ? { semantic: 'off', reason, pending: 0 }
    : { semantic: 'off', reason: 'the encoder is being loaded', pending: pendingOf(served) }
}

function wantedOf(
  { semantic, embeddings }: SearchConfig,
  means: SemanticDependencies | undefined,
): Way | Off {
  if (semantic === 'none') return { kind: 'off', reason: 'spec.search.semantic of the gateway is none' }
  if (!means) return { kind: 'off', reason: 'this router has no encoder' }
  if (!embeddings) return { kind: 'embedded' }
  const { url, model, secret } = embeddings
  if (!secret) return { kind: 'endpoint', url, model }
  const apiKey = means.secret(secret)
  if (apiKey === undefined && !secret.optional)
    return { kind: 'off', reason: `the key ${secret.key} of the Secret ${secret.name} is not known here` }
  return { kind: 'endpoint', url, model, apiKey }
}

type Ways = Pick<EncodingOptions, 'open' | 'queryTimeoutMs' | 'encodesAtOnce'>

function waysOf(way: Way, means: SemanticDependencies, clock: Clock): Ways {
  if (way.kind === 'embedded')
    return {
      open: means.openEmbedded,
      queryTimeoutMs: EMBEDDED_TIMEOUT_MS,
      encodesAtOnce: means.encodesDocuments ? EMBEDDED_BATCH : undefined,
    }
  const { openCache } = means
  return {
    open: (onOther, signal) => openEndpoint({ ...way, clock, openCache, onOther }, signal),
    queryTimeoutMs: QUERY_TIMEOUT_MS,
    encodesAtOnce: ENDPOINT_BATCH,
  }
}

/** Where the encoder is not there yet, all are to come. */
function pendingOf(catalog: Catalog | undefined): number {
  if (!catalog) return 0
  const { vectors, tools, extras } = catalog
  return vectors ? vectors.tools.pending + vectors.extras.pending : tools.length + extras.length
}
