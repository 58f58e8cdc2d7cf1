/** The worker thread of the token counter: a separate entry point, which core/tokens.ts starts. */
import { parentPort } from 'node:worker_threads'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'

/** The tokenizer takes quadratic time for a run that it cannot split: such texts are counted in pieces, which is slightly inexact. */
const UNSPLIT_RUN = /[\p{L}\p{M}]{1000}|[^\s\p{L}\p{N}]{1000}|\s{1000}/u
const PIECE_CHARACTERS = 1000
/** Counts text that looks like a control token as ordinary text. */
const AS_TEXT = { disallowedSpecial: new Set<string>() }

function count(text: string): number {
  if (!UNSPLIT_RUN.test(text)) return countTokens(text, AS_TEXT)
  let tokens = 0
  for (let at = 0; at < text.length; at += PIECE_CHARACTERS)
    tokens += countTokens(text.slice(at, at + PIECE_CHARACTERS), AS_TEXT)
  return tokens
}

parentPort?.on('message', ({ id, texts }: { id: number; texts: string[] }) => {
  parentPort?.postMessage({ id, counts: texts.map(count) })
})
