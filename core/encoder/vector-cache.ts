/** Caches vectors on disk by the keys of their texts. Records of a fixed size are appended; each start removes invalid and excess ones. */
import { appendFile, mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import type { Vector } from '../catalog/vectors.ts'
import { replaceFile } from '../replace-file.ts'

/** The length of the keys made by search-text.ts; vectors with other keys are not stored. */
const KEY_BYTES = 22
const CHECK_BYTES = 4
const SCALE_BYTES = 4
const VALUES_AT = CHECK_BYTES + SCALE_BYTES + KEY_BYTES

export type VectorCacheOptions = {
  file: string
  /** The id of the encoder. Records of other encoders are removed. */
  encoder: string
  dimensions: number
  /** Beyond this, the oldest are removed. */
  maxVectors: number
  /** Called at the first failed write; nothing is written afterwards. */
  onFailure?: (error: unknown) => void
}

export type VectorCache = {
  get(key: string): Vector | undefined
  /** Stores the vector in memory immediately, and in the file soon after. */
  put(key: string, vector: Vector): void
  /** Waits for pending writes. */
  close(): Promise<void>
}

/**
 * Any number of processes may share the file: each reads it when it starts, and appends new records. Truncated and damaged records
 * are ignored. Never throws.
 */
export async function openVectorCache(options: VectorCacheOptions): Promise<VectorCache> {
  const { file, maxVectors, onFailure } = options
  const format = recordFormat(options)
  const bytes = await readFile(file).catch(() => Buffer.alloc(0))
  const { vectors, clean } = readRecords(bytes, format, maxVectors)
  const writing = createWriting(file, maxVectors, onFailure)
  if (!clean) writing.replace([...vectors].map(([key, vector]) => format.write(key, vector)))
  return {
    get: key => vectors.get(key),
    put(key, vector) {
      if (key.length !== KEY_BYTES || vector.values.length !== options.dimensions || vectors.has(key)) return
      vectors.set(key, vector)
      dropOldest(vectors, maxVectors)
      writing.append(format.write(key, vector))
    },
    close: writing.close,
  }
}

type RecordFormat = {
  bytes: number
  write(key: string, vector: Vector): Buffer
  /** Undefined if the record is damaged, incomplete or of another encoder. */
  read(record: Buffer): [string, Vector] | undefined
}

/** A record consists of a check (crc32 of the encoder's id and the rest), the scale (float32), the key and the values. */
function recordFormat({ encoder, dimensions }: VectorCacheOptions): RecordFormat {
  const seed = crc32(encoder)
  const checkOf = (record: Buffer): number => crc32(record.subarray(CHECK_BYTES), seed)
  const bytes = VALUES_AT + dimensions
  return {
    bytes,
    write(key, { values, scale }) {
      const record = Buffer.alloc(bytes)
      record.writeFloatLE(scale, CHECK_BYTES)
      record.write(key, CHECK_BYTES + SCALE_BYTES, KEY_BYTES, 'latin1')
      record.set(new Uint8Array(values.buffer, values.byteOffset, values.length), VALUES_AT)
      record.writeUInt32LE(checkOf(record), 0)
      return record
    },
    read(record) {
      if (record.length < bytes || record.readUInt32LE(0) !== checkOf(record)) return undefined
      const key = record.toString('latin1', CHECK_BYTES + SCALE_BYTES, VALUES_AT)
      return [
        key,
        { scale: record.readFloatLE(CHECK_BYTES), values: new Int8Array(record.subarray(VALUES_AT)) },
      ]
    },
  }
}

/** Returns the newest records. `clean` is false if the file has invalid or too many records and should be rewritten. */
function readRecords(bytes: Buffer, format: RecordFormat, maxVectors: number) {
  const vectors = new Map<string, Vector>()
  let clean = true
  for (let at = 0; at < bytes.length; at += format.bytes) {
    const record = format.read(bytes.subarray(at, at + format.bytes))
    if (record) vectors.set(...record)
    else clean = false
  }
  if (bytes.length > maxVectors * format.bytes) clean = false
  dropOldest(vectors, maxVectors)
  return { vectors, clean }
}

function dropOldest(vectors: Map<string, Vector>, maxVectors: number): void {
  for (const key of vectors.keys()) {
    if (vectors.size <= maxVectors) return
    vectors.delete(key)
  }
}

/** Writes one after another; records that are added during a write are written together. */
function createWriting(file: string, maxRecords: number, onFailure?: (error: unknown) => void) {
  let pending: Buffer[] = []
  let left = maxRecords
  let last = Promise.resolve()
  const enqueue = (write: () => Promise<void>) => {
    last = last.then(write).catch(error => {
      if (left > 0) onFailure?.(error)
      left = 0
    })
  }
  const flush = async () => {
    const records = pending.slice(0, left)
    pending = []
    left -= records.length
    if (records.length === 0) return
    await mkdir(dirname(file), { recursive: true })
    await appendFile(file, Buffer.concat(records), { mode: 0o600 })
  }
  return {
    append(record: Buffer) {
      pending.push(record)
      if (pending.length === 1) enqueue(flush)
    },
    replace: (records: Buffer[]) => enqueue(() => replaceFile(file, Buffer.concat(records))),
    close: () => last,
  }
}
