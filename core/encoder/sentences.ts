/** Vectors of queries and of searchable texts by the embedded model, in steps that others may come between. */
import type { SearchText } from '../catalog/search-text.ts'
import { blend, quantize, type Vector } from '../catalog/vectors.ts'
import { MAX_TOKENS } from './minilm.ts'
import { openWords, readModel } from './model-file.ts'
import { createTransformer, type Scratch } from './transformer.ts'
import { createTokenizer } from './word-piece.ts'

/** The texts of an item together are at most MAX_TOKENS, the rows of one pass. */
const FULL_TOKENS = 64
const NAME_TOKENS = 32

/** Each gives way after some 2 ms of work; a query may be encoded between two steps of a text, and none else. */
export type Sentences = {
  query(text: string): Generator<void, Vector>
  /** Of both texts, in one pass. */
  text(text: Pick<SearchText, 'full' | 'name'>): Generator<void, Vector>
}

/** Throws Fault `io`, which says what to do, where the model or the kernels are not there or damaged. */
export function loadSentences(modelFile: string): Sentences {
  let vocabulary = ''
  const load = (tensors: Uint8Array) => {
    vocabulary = readModel(modelFile, () => tensors)
  }
  const transformer = createTransformer(load, openWords(modelFile))
  const tokens = createTokenizer(vocabulary)
  const encode = function* (scratch: Scratch, texts: Uint16Array[]) {
    return (yield* transformer.encode(scratch, texts)) as [Float32Array, Float32Array]
  }
  return {
    *query(text) {
      const [vector] = yield* encode(transformer.query, [tokens(text, MAX_TOKENS)])
      return quantize(vector)
    },
    *text({ full, name }) {
      const texts = [tokens(full, FULL_TOKENS), tokens(name, NAME_TOKENS)]
      const [ofFull, ofName] = yield* encode(transformer.documents, texts)
      return blend(ofFull, ofName)
    },
  }
}

/** Takes all steps; `between` is called after each but the last. */
export function finish(steps: Generator<void, Vector>, between?: () => void): Vector {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    between?.()
  }
}
