/** Computes the vectors of queries and searchable texts with the embedded model, in short steps. */
import type { SearchText } from '../catalog/search-text.ts'
import { blend, quantize, type Vector } from '../catalog/vectors.ts'
import { MAX_TOKENS } from './minilm.ts'
import { openWords, readModel } from './model-file.ts'
import { createTransformer, type Scratch } from './transformer.ts'
import { createTokenizer } from './word-piece.ts'

/** Both texts of an item are encoded in one pass, so their sum must not exceed MAX_TOKENS. */
const FULL_TOKENS = 64
const NAME_TOKENS = 32

/** The generators yield after about 2 ms of work each. Between two steps of a text, a query may be encoded, but nothing else. */
export type Sentences = {
  query(text: string): Generator<void, Vector>
  /** Encodes the full text and the name in one pass, and returns their weighted mean. */
  text(text: Pick<SearchText, 'full' | 'name'>): Generator<void, Vector>
}

/** Throws Fault `io`, whose message says what to do, if the model or the kernels are missing or damaged. */
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

/** Runs all steps; `between` is called after each except the last. */
export function finish(steps: Generator<void, Vector>, between?: () => void): Vector {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    between?.()
  }
}
