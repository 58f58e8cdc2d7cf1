/** Cuts a server catalog into slices that fit a ConfigMap, and joins them again. Pure. */
import { gunzipSync, gzipSync } from 'node:zlib'
import { Fault } from '../errors.ts'
import { isObject, type JsonValue } from '../json.ts'
import { serverCatalogOf } from './catalog-shape.ts'
import type { SliceHeader } from './feed.ts'
import type { ServerCatalog } from './server-catalog.ts'
import { catalogVersion } from './version.ts'

/** The format written. The previous one can also be read, so that routers and operator can be updated one after the other. */
export const SLICE_FORMAT = 1
/** In base64 this stays below the 1 MiB limit of a ConfigMap. */
export const MAX_SLICE_BYTES = 700 * 1024
export const MAX_SLICES = 48
/** Limit of the JSON text: what discovery may read, and what it adds. */
const MAX_TEXT_BYTES = 32 * 2 ** 20

export type Slice = { header: SliceHeader; payload: Buffer }

/** Equal catalogs give equal bytes: Node's gzip writes no timestamp. Throws Fault `upstream_too_large` above MAX_SLICES. */
export function encodeSlices(catalog: ServerCatalog): Slice[] {
  const bytes = gzipSync(JSON.stringify(catalog))
  const parts = Math.ceil(bytes.length / MAX_SLICE_BYTES)
  if (parts > MAX_SLICES)
    throw new Fault('upstream_too_large', `The catalog is larger than ${MAX_SLICES} slices`)
  const encoder = catalog.vectors && { encoder: catalog.vectors.encoder }
  const set = { format: SLICE_FORMAT, digest: catalogVersion(catalog), parts, ...encoder }
  return Array.from({ length: parts }, (_, part) => ({
    header: { ...set, part },
    payload: bytes.subarray(part * MAX_SLICE_BYTES, (part + 1) * MAX_SLICE_BYTES),
  }))
}

/**
 * Joins a set of slices, given in any order; invalid vectors are left out. Throws Fault `invalid_data` if the set is incomplete, not
 * readable or of an unknown format.
 */
export function decodeSlices(slices: readonly Slice[]): ServerCatalog {
  const sorted = slices.toSorted((a, b) => a.header.part - b.header.part)
  const first = sorted[0]?.header
  if (!first) throw new Fault('invalid_data', 'There are no slices')
  if (first.format !== SLICE_FORMAT && first.format !== SLICE_FORMAT - 1)
    throw new Fault(
      'invalid_data',
      `The slices have format ${first.format}; supported are ${SLICE_FORMAT - 1} and ${SLICE_FORMAT}`,
    )
  const agree = sorted.every(
    ({ header }, position) =>
      header.part === position &&
      header.format === first.format &&
      header.digest === first.digest &&
      header.parts === first.parts &&
      header.encoder === first.encoder,
  )
  if (!agree || sorted.length !== first.parts)
    throw new Fault('invalid_data', 'The slices are not one complete set')
  const catalog = serverCatalogOf(parse(Buffer.concat(sorted.map(({ payload }) => payload))))
  if (!catalog || (catalogVersion(catalog) !== first.digest && !lostVectors(catalog, first)))
    throw new Fault('invalid_data', 'The slices do not contain the catalog version in their headers')
  return catalog
}

/** Without its invalid vectors the catalog has another version than its slices; the rest is intact, since gzip checks it. */
function lostVectors({ vectors }: ServerCatalog, { encoder }: SliceHeader): boolean {
  return vectors === undefined && encoder !== undefined
}

/** The slice in a ConfigMap. Throws Fault `invalid_data` if it contains none. */
export function readSlice(configMap: {
  data?: Record<string, string>
  binaryData?: Record<string, string>
}): Slice {
  const { header: text = '' } = configMap.data ?? {}
  const payload = Buffer.from(configMap.binaryData?.catalog ?? '', 'base64')
  let header: unknown
  try {
    header = JSON.parse(text)
  } catch (cause) {
    throw new Fault('invalid_data', 'The header of a slice is not readable', { cause })
  }
  if (!isHeader(header)) throw new Fault('invalid_data', 'The header of a slice lacks a field')
  return { header, payload }
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(gunzipSync(bytes, { maxOutputLength: MAX_TEXT_BYTES }).toString('utf8'))
  } catch (cause) {
    throw new Fault('invalid_data', 'The slices are damaged', { cause })
  }
}

function isHeader(value: unknown): value is SliceHeader {
  return (
    isObject(value as JsonValue) &&
    isCount((value as SliceHeader).format) &&
    typeof (value as SliceHeader).digest === 'string' &&
    isCount((value as SliceHeader).parts) &&
    isCount((value as SliceHeader).part) &&
    ['string', 'undefined'].includes(typeof (value as SliceHeader).encoder)
  )
}

function isCount(value: unknown): boolean {
  return (
    typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= Number.MAX_SAFE_INTEGER
  )
}
