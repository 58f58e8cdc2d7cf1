/** A model file of the right shape with weights that mean nothing: for tests of all that is not about meaning. */
import { writeFileSync } from 'node:fs'
import { modelTensors, VOCABULARY_WORDS, WORD_WEIGHTS } from '../../core/encoder/minilm.ts'
import { writeModel } from '../../core/encoder/model-file.ts'

const SCALE = 0.002
const SPECIAL = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '!', '.', ':']
const LETTERS = [...'abcdefghijklmnopqrstuvwxyz0123456789']

/** Single letters and digits are known, at the beginning of a word and within; all other words of the vocabulary occur in no text. */
export function randomVocabulary(): string {
  const known = [...SPECIAL, ...LETTERS, ...LETTERS.map(letter => `##${letter}`)]
  const others = Array.from({ length: VOCABULARY_WORDS - known.length }, (_, at) => `[unused${at}]`)
  return `${[...known, ...others].join('\n')}\n`
}

export function randomModel(): Uint8Array {
  const tensors = new Map(
    [WORD_WEIGHTS, ...modelTensors()].map(({ name, bytes }) => [name, tensorOf(name, bytes)]),
  )
  return writeModel(tensors, Buffer.from(randomVocabulary()))
}

export function writeRandomModel(file: string): string {
  writeFileSync(file, randomModel())
  return file
}

function tensorOf(name: string, bytes: number): Uint8Array {
  if (name.endsWith('.weights')) return noise(bytes)
  const value = name.endsWith('.gain') ? 1 : name.endsWith('.scales') ? SCALE : 0
  return new Uint8Array(new Float32Array(bytes / 4).fill(value).buffer)
}

/** Bytes of a linear congruential generator (Numerical Recipes, "ranqd1"). */
function noise(bytes: number): Uint8Array {
  const values = new Uint8Array(bytes)
  let state = bytes
  for (let at = 0; at < bytes; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    values[at] = state >>> 24
  }
  return values
}
