/** Vectors on disk by the keys of their texts: a file of records of one size that only grows, until a start tidies it. */
import { appendFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import process from 'node:process'
import { crc32 } from 'node:zlib'
import type { Vector } from '../catalog/vectors.ts'

/** As long as the keys of search-text.ts are; others are not kept. */
const KEY_BYTES = 22
const CHECK_BYTES = 4
const SCALE_BYTES = 4
const VALUES_AT = CHECK_BYTES + SCALE_BYTES + KEY_BYTES

export type VectorCacheOptions = {
  file: string
  /** Records of another one are not read, and dropped. */
  encoder: string
  dimensions: number
  /** The oldest are dropped. */
  maxVectors: number
  /** Told of the first failure of writing; nothing is written after it. */
  onFailure?: (error: unknown) => void
}

export type VectorCache = {
  get(key: string): Vector | undefined
  /** Kept at once, written soon: what cannot be written is made anew another time. */
  put(key: string, vector: Vector): void
  /** Waits for what is being written. */
  close(): Promise<void>
}

/**
 * Any number of processes may share the file: each reads what is there at its start and appends what it makes. A record
 * that was cut off, or damaged, is not read. Never throws.
 */
export async function openVectorCache(options: VectorCacheOptions): Promise<VectorCache> {
  const { file, maxVectors, onFailure } = options
  const format = recordFormat(options)
  const bytes = await readFile(file).catch(() => Buffer.alloc(0))
  const { vectors, tidy } = readRecords(bytes, format, maxVectors)
  const writing = createWriting(file, maxVectors, onFailure)
  if (!tidy) writing.replace([...vectors].map(([key, vector]) => format.write(key, vector)))
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
  /** Undefined where the record is not whole, or of another encoder. */
  read(record: Buffer): [string, Vector] | undefined
}

/** check (crc32 of the encoder's name and the rest), scale (float32), key, values. */
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

/** The newest of the records; `tidy` where each is whole and they are not too many. */
function readRecords(bytes: Buffer, format: RecordFormat, maxVectors: number) {
  const vectors = new Map<string, Vector>()
  let tidy = true
  for (let at = 0; at < bytes.length; at += format.bytes) {
    const record = format.read(bytes.subarray(at, at + format.bytes))
    if (record) vectors.set(...record)
    else tidy = false
  }
  if (bytes.length > maxVectors * format.bytes) tidy = false
  dropOldest(vectors, maxVectors)
  return { vectors, tidy }
}

function dropOldest(vectors: Map<string, Vector>, maxVectors: number): void {
  for (const key of vectors.keys()) {
    if (vectors.size <= maxVectors) return
    vectors.delete(key)
  }
}

/** One write after the other; records that come meanwhile are written together. */
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

/** Whole or not at all, whoever else does the same. */
async function replaceFile(file: string, bytes: Buffer): Promise<void> {
  const made = `${file}.${process.pid}`
  try {
    await writeFile(made, bytes, { mode: 0o600 })
    await rename(made, file)
  } finally {
    await rm(made, { force: true })
  }
}
