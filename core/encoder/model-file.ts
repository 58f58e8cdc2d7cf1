/** The format of the model file: a header with a checksum, the vocabulary, the word embeddings, the other tensors. */
import { createHash, type Hash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { Fault } from '../errors.ts'
import {
  aligned,
  DIMENSIONS,
  MODEL_ID,
  modelLayout,
  modelTensors,
  type TensorShape,
  WORD_WEIGHTS,
} from './minilm.ts'

const HEADER_BYTES = 128
/** The first bytes, which also tell people what the file is. */
const TITLE = `Portolan sentence encoder ${MODEL_ID}, Apache-2.0\n`
/** Offset of the vocabulary's length in the header (uint32, little endian). */
const LENGTH_AT = 80
/** Offset in the header of the sha256 of everything else. */
const CHECKSUM_AT = 96
const MAX_VOCABULARY_BYTES = 1024 * 1024
const PIECE_BYTES = 256 * 1024

/** Fills `row` with the weights of a word. Throws Fault `io` if they cannot be read any more. */
export type ReadWord = (word: number, row: Int8Array) => void

/** Returns the bytes of the file. Throws Fault `io` if a tensor is missing or has another size. */
export function writeModel(tensors: ReadonlyMap<string, Uint8Array>, vocabulary: Uint8Array): Uint8Array {
  const { offsets, bytes } = modelLayout()
  const { words, tensors: start } = startsOf(vocabulary.length)
  const file = Buffer.alloc(start + bytes)
  file.write(TITLE, 'latin1')
  file.writeUInt32LE(vocabulary.length, LENGTH_AT)
  file.set(vocabulary, HEADER_BYTES)
  const put = ({ name, bytes }: TensorShape, at: number) => {
    const values = tensors.get(name)
    if (values?.length !== bytes)
      throw new Fault('io', `The tensor ${name} of the model is not ${bytes} bytes long`)
    file.set(values, at)
  }
  put(WORD_WEIGHTS, words)
  for (const tensor of modelTensors()) put(tensor, start + (offsets.get(tensor.name) as number))
  file.set(checksumOf(file).update(file.subarray(HEADER_BYTES)).digest(), CHECKSUM_AT)
  return file
}

/**
 * Reads all tensors except the word embeddings into the array that `allocate` returns (called once), and returns the vocabulary.
 * Throws Fault `io`, whose message says what to do, if the file is missing, or is not a complete model of this version.
 */
export function readModel(path: string, allocate: (bytes: number) => Uint8Array): string {
  const file = openModel(path)
  try {
    const header = readPart(file, Buffer.alloc(HEADER_BYTES), 0)
    const length = header.readUInt32LE(LENGTH_AT)
    const { bytes } = modelLayout()
    const { words, tensors: start } = startsOf(length)
    if (!header.toString('latin1').startsWith(TITLE)) throw unusable('is not a model file of this version')
    if (length > MAX_VOCABULARY_BYTES || fstatSync(file).size !== start + bytes) throw unusable('is cut off')
    const vocabulary = readPart(file, Buffer.alloc(words - HEADER_BYTES), HEADER_BYTES)
    const checksum = checksumOf(header).update(vocabulary)
    const piece = Buffer.alloc(PIECE_BYTES)
    for (let at = words; at < start; at += PIECE_BYTES)
      checksum.update(readPart(file, piece.subarray(0, start - at), at))
    checksum.update(readPart(file, allocate(bytes).subarray(0, bytes), start))
    if (!checksum.digest().equals(header.subarray(CHECKSUM_AT))) throw unusable('is damaged')
    return vocabulary.toString('utf8', 0, length)
  } finally {
    closeSync(file)
  }
}

/** Opens the word embeddings of a file that readModel has checked. The file stays open as long as the thread lives. */
export function openWords(path: string): ReadWord {
  const file = openModel(path)
  const { words } = startsOf(readPart(file, Buffer.alloc(HEADER_BYTES), 0).readUInt32LE(LENGTH_AT))
  return (word, row) => void readPart(file, row, words + word * DIMENSIONS)
}

/** Offsets of the word embeddings and of the other tensors. */
function startsOf(vocabularyBytes: number): { words: number; tensors: number } {
  const words = HEADER_BYTES + aligned(vocabularyBytes)
  return { words, tensors: words + aligned(WORD_WEIGHTS.bytes) }
}

/** A hash of the header's part before the checksum; the caller adds the rest of the file. */
function checksumOf(header: Uint8Array): Hash {
  return createHash('sha256').update(header.subarray(0, CHECKSUM_AT))
}

function openModel(path: string): number {
  try {
    return openSync(path, 'r')
  } catch (cause) {
    throw new Fault('io', 'The model of the sentence encoder is not there: run `portolan model`', { cause })
  }
}

function readPart<Bytes extends Uint8Array | Int8Array>(file: number, into: Bytes, position: number): Bytes {
  for (let at = 0; at < into.length; ) {
    const read = readSync(file, into, at, into.length - at, position + at)
    if (read === 0) throw unusable('is cut off')
    at += read
  }
  return into
}

function unusable(what: string): Fault {
  return new Fault('io', `The model of the sentence encoder ${what}: run \`portolan model\``)
}
