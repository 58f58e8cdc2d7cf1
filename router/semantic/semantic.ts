/** Search by meaning of one router: follows the config's choice of encoder and reports its state. */
import { type Clock, systemClock } from '../../core/async.ts'
import type { SearchConfig, SecretKey } from '../../core/catalog/router-config.ts'
import type { Vector } from '../../core/catalog/vectors.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'
import type { HostGuard } from '../../core/host-guard.ts'
import type { Log } from '../../core/log.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { QueryEncoder } from '../meta/meta-tool.ts'
import { Encoding, type EncodingOptions } from './encoding.ts'
import { type OpenCache, openEndpoint, QUERY_TIMEOUT_MS } from './endpoint.ts'
import type { SemanticMetrics } from './semantic-metrics.ts'

/** What the router's owner provides for search by meaning. */
export type SemanticDependencies = {
  /** Opens the embedded encoder. Throws with a sentence if it is not available; called again every few seconds then, and after `onLost`. */
  openEmbedded: (onLost: () => void) => Promise<SentenceEncoder>
  /** Whether this router encodes what it serves; otherwise the vectors come with the lists. */
  encodesDocuments: boolean
  /** The value of a Secret that the config refers to; undefined if it is not known. */
  secret: (key: SecretKey) => string | undefined
  /** Which addresses an embeddings service may have. Absent: any. */
  hosts?: HostGuard
  /** Absent: vectors of an embeddings service are kept in memory only. */
  openCache?: OpenCache
}

export type SearchStatus = {
  semantic: 'embedded' | 'endpoint' | 'off'
  /** Why search by meaning is off, or what is wrong. */
  reason?: string
  /** Texts that have no vector yet. */
  pending: number
}

export type SemanticOptions = {
  /** Absent: search uses words alone. */
  dependencies?: SemanticDependencies
  log: Log
  clock?: Clock
  /** Called when `equip` has something new to add. */
  onVectors: () => void
  /** Called when `equipOwn` has something new to add. Absent: it is not used. */
  onOwnVectors?: () => void
  metrics: SemanticMetrics
}

export type Semantic = {
  /** Applies the search settings of a config; the encoder opens while the catalog is built. */
  adopt(search: SearchConfig): void
  /** Returns the catalog with the vectors known so far. Yields often; only one run at a time. */
  equip(catalog: Catalog): Generator<void, Catalog>
  /** The same for the catalog of a user, which has the parts of the catalog that was equipped last, except for the user's own lists. */
  equipOwn(catalog: Catalog): Generator<void, Catalog>
  encodeQuery: QueryEncoder
  status(): SearchStatus
  close(): Promise<void>
}

/** A search by words takes a millisecond: this is how long better hits are worth waiting for. */
const EMBEDDED_TIMEOUT_MS = 250
/** Encoding a batch of this size takes some hundred milliseconds. */
const EMBEDDED_BATCH = 8
const ENDPOINT_BATCH = 64

type Off = { kind: 'off'; reason: string }
type EncoderChoice = { kind: 'endpoint'; url: string; model: string; apiKey?: string } | { kind: 'embedded' }

export function createSemantic(options: SemanticOptions): Semantic {
  const { log, clock = systemClock, dependencies, metrics } = options
  let wanted: EncoderChoice | Off = { kind: 'off', reason: 'there is no catalog yet' }
  let encoding: Encoding | undefined
  let served: Catalog | undefined
  let lastLogged = ''
  const ending = new Set<Promise<void>>()
  let known = { encoder: '', vectors: new Map<string, Vector>() }

  /** The known vectors of an encoder. They are kept when only the API key of the same service changes. */
  function vectorsOf(encoder: string): Map<string, Vector> {
    if (known.encoder !== encoder) known = { encoder, vectors: new Map() }
    return known.vectors
  }

  const status = () => statusOf(wanted, encoding, served)
  metrics.watchPending(() => status().pending)

  /** Logs every change of the status once it is known. */
  function logStatus(): void {
    if (encoding && !encoding.isOpen() && encoding.trouble() === undefined) return
    const { semantic, reason } = status()
    if (lastLogged === JSON.stringify([semantic, reason])) return
    lastLogged = JSON.stringify([semantic, reason])
    const level = semantic !== 'off' && reason !== undefined ? 'warn' : 'info'
    log[level]({ semantic, reason }, 'search by meaning')
  }

  function adopt(search: SearchConfig): void {
    const next = wantedOf(search, dependencies)
    if (JSON.stringify(next) === JSON.stringify(wanted)) return
    wanted = next
    const last = encoding?.close()
    if (last) ending.add(last.finally(() => ending.delete(last)))
    const { onVectors, onOwnVectors = () => {} } = options
    const shared = { log, clock, vectorsOf, onVectors, onOwnVectors, onTrouble: logStatus, metrics }
    encoding =
      next.kind === 'off' || !dependencies
        ? undefined
        : new Encoding({ ...shared, ...encoderOptionsOf(next, dependencies, clock) })
  }

  return {
    adopt,
    *equip(catalog) {
      served = encoding ? yield* encoding.equip(catalog) : { ...catalog, vectors: undefined }
      logStatus()
      return served
    },
    *equipOwn(catalog) {
      return encoding ? yield* encoding.equipOwn(catalog) : { ...catalog, vectors: undefined }
    },
    encodeQuery: async (text, signal) => encoding?.encodeQuery(text, signal),
    status,
    async close() {
      await Promise.all([encoding?.close(), ...ending])
    },
  }
}

function statusOf(
  wanted: EncoderChoice | Off,
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
  dependencies: SemanticDependencies | undefined,
): EncoderChoice | Off {
  if (semantic === 'none') return { kind: 'off', reason: 'spec.search.semantic of the gateway is none' }
  if (!dependencies) return { kind: 'off', reason: 'this router has no encoder' }
  if (!embeddings) return { kind: 'embedded' }
  const { url, model, secret } = embeddings
  if (!secret) return { kind: 'endpoint', url, model }
  const apiKey = dependencies.secret(secret)
  if (apiKey === undefined && !secret.optional)
    return { kind: 'off', reason: `the key ${secret.key} of the Secret ${secret.name} could not be read` }
  return { kind: 'endpoint', url, model, apiKey }
}

type EncoderOptions = Pick<EncodingOptions, 'open' | 'queryTimeoutMs' | 'encodesAtOnce'>

function encoderOptionsOf(
  choice: EncoderChoice,
  dependencies: SemanticDependencies,
  clock: Clock,
): EncoderOptions {
  if (choice.kind === 'embedded')
    return {
      open: dependencies.openEmbedded,
      queryTimeoutMs: EMBEDDED_TIMEOUT_MS,
      encodesAtOnce: dependencies.encodesDocuments ? EMBEDDED_BATCH : undefined,
    }
  const { openCache, hosts } = dependencies
  return {
    open: (onOther, signal) => openEndpoint({ ...choice, clock, hosts, openCache, onOther }, signal),
    queryTimeoutMs: QUERY_TIMEOUT_MS,
    encodesAtOnce: ENDPOINT_BATCH,
  }
}

/** While the encoder is not open yet, all documents are pending. */
function pendingOf(catalog: Catalog | undefined): number {
  if (!catalog) return 0
  const { vectors, tools, extras } = catalog
  return vectors ? vectors.tools.pending + vectors.extras.pending : tools.length + extras.length
}
