/** Sentence vectors as they are stored and sent: int8 with one scale each, packed. Pure. */
import { createHash } from 'node:crypto'
import { Fault } from '../errors.ts'
import type { CatalogVectors } from './server-catalog.ts'

/** `values[i] · scale` is the i-th component; the vector's length is about 1. */
export type Vector = { readonly values: Int8Array; readonly scale: number }

/** Bytes of the scale, a float32, little endian, ahead of the values. */
const SCALE_BYTES = 4

/** Scales the components so that the greatest absolute value is 127, and rounds them to int8. A zero vector stays zero. */
export function quantize(components: ArrayLike<number>): Vector {
  let greatest = 0
  for (let at = 0; at < components.length; at++)
    greatest = Math.max(greatest, Math.abs(components[at] as number))
  const scale = Math.fround(greatest / 127) || 1
  return { values: Int8Array.from(components, component => Math.round(component / scale)), scale }
}

/** The weight of an item's name relative to its full text. */
const NAME_WEIGHT = 0.3

/** vector = (full + .3 · name) / 1.3: how every encoder combines the vectors of the two texts of a SearchText. */
export function blend(full: ArrayLike<number>, name: ArrayLike<number>): Vector {
  const mixed = (value: number, at: number): number => value + NAME_WEIGHT * (name[at] as number)
  return quantize(Float32Array.from(full, (value, at) => mixed(value, at) / (1 + NAME_WEIGHT)))
}

/** Packs vectors, given by the keys of their texts. Equal vectors give equal bytes. All must have the same number of dimensions. */
export function packVectors(encoder: string, vectors: ReadonlyMap<string, Vector>): CatalogVectors {
  const keys = [...vectors.keys()].sort()
  const size = SCALE_BYTES + (vectors.get(keys[0] ?? '')?.values.length ?? 0)
  const bytes = Buffer.alloc(keys.length * size)
  for (const [at, key] of keys.entries()) {
    const { values, scale } = vectors.get(key) as Vector
    bytes.writeFloatLE(scale, at * size)
    bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.length), at * size + SCALE_BYTES)
  }
  const digest = createHash('sha256')
    .update(JSON.stringify([encoder, keys]))
    .update(bytes)
    .digest('hex')
  return { encoder, digest, keys, data: bytes.toString('base64') }
}

/** Throws Fault `invalid_data` if the bytes cannot be divided into one vector for each key. */
export function unpackVectors({ keys, data }: CatalogVectors): Map<string, Vector> {
  if (keys.length === 0) return new Map()
  const bytes = Buffer.from(data, 'base64')
  const size = bytes.length / keys.length
  if (!Number.isInteger(size) || size <= SCALE_BYTES)
    throw new Fault('invalid_data', 'The number of vectors differs from that of their keys')
  const vectorAt = (at: number): Vector => ({
    scale: bytes.readFloatLE(at * size),
    values: new Int8Array(bytes.subarray(at * size + SCALE_BYTES, (at + 1) * size)),
  })
  return new Map(keys.map((key, at) => [key, vectorAt(at)]))
}
