/** Finds words of the index for an unknown word of a query: mistyped, truncated or abbreviated. Pure. */
import { isOneEdit, isWithinTwoEdits } from './edits.ts'
import { isWellKnown } from './product-names.ts'
import { stem } from './text.ts'

/** Words that may have been meant, each with its weight below 1, most likely first. */
export type Spelling = (unknown: string) => readonly Suggestion[]
export type Suggestion = readonly [word: string, weight: number]

const MAX_SUGGESTIONS = 4
const WEIGHT = { edit: 0.6, twoEdits: 0.4, prefix: 0.4, skeleton: 0.6, clipped: 0.35 }
/** Shorter words are too similar to each other for correction. */
const MIN_EDIT_CHARACTERS = 4
const MIN_TWO_EDITS_CHARACTERS = 8
const MIN_CLIPPED_CHARACTERS = 3
/** If one word is a prefix of the other: how many characters the word of the index may be longer, and shorter. */
const MAX_LONGER = 5
const MAX_SHORTER = 4
/** An abbreviated word keeps at least this share of the letters. */
const MIN_CLIPPED_SHARE = 0.35

/** Words that may have been meant, by their first letter. */
export type Vocabulary = ReadonlyMap<string, readonly string[]>

/** Groups words by their first letter, without very short ones. */
export function createVocabulary(all: Iterable<string>): Vocabulary {
  const byLetter = new Map<string, string[]>()
  for (const word of all) {
    if (word.length < MIN_CLIPPED_CHARACTERS) continue
    const words = byLetter.get(word.charAt(0))
    if (words) words.push(word)
    else byLetter.set(word.charAt(0), [word])
  }
  return byLetter
}

/**
 * `count`: how many documents contain a word; of equally similar words the most frequent comes first. Words that `isWord` refuses are never
 * suggested. A well-known product is no misspelling: `discord` does not mean `discard`.
 */
export function createSpelling(
  vocabulary: Vocabulary,
  count: (word: string) => number,
  isWord: (word: string) => boolean = () => true,
): Spelling {
  return text => {
    if (isWellKnown(text)) return withoutDb(text, vocabulary).filter(([word]) => isWord(word))
    const unknown = readUnknown(text)
    const likely: { word: string; weight: number; score: number }[] = []
    for (const word of vocabulary.get(text.charAt(0)) ?? []) {
      const weight = Math.max(mistyped(unknown, word), cutShort(unknown.stem, word), clipped(unknown, word))
      if (weight > 0 && isWord(word))
        likely.push({ word, weight, score: weight * (1 + Math.log(1 + count(word)) / 10) })
    }
    return likely
      .sort((a, b) => b.score - a.score || (a.word < b.word ? -1 : 1))
      .slice(0, MAX_SUGGESTIONS)
      .map(({ word, weight }) => [word, weight])
  }
}

/** `influx` for `influxdb`, if that is a word of the index. */
function withoutDb(product: string, vocabulary: Vocabulary): [string, number][] {
  const word = stem(product.replace(/db$/, ''))
  const isKnown = product.endsWith('db') && vocabulary.get(word.charAt(0))?.includes(word)
  return isKnown ? [[word, WEIGHT.prefix]] : []
}

type Unknown = {
  text: string
  stem: string
  /** Without the `s` of a plural, for abbreviated words: `usrs`. */
  clip: string
  skeleton: string
}

function readUnknown(text: string): Unknown {
  const clip = text.length > MIN_CLIPPED_CHARACTERS ? text.replace(/s$/, '') : text
  return { text, stem: stem(text), clip, skeleton: skeletonOf(clip) }
}

/** The weight of a word that may have been mistyped, otherwise 0. Words of the index are stems; a mistyped word may be more similar to the full form: `crete` to `create`, not to `creat`. */
function mistyped(unknown: Unknown, word: string): number {
  const longer = word.length - unknown.text.length
  if (unknown.text.length < MIN_EDIT_CHARACTERS || longer > 2 || longer < -3) return 0
  if (isOneEdit(unknown.stem, word) || isOneEdit(unknown.text, word)) return WEIGHT.edit
  if (isOneEdit(unknown.text, fullForm(word))) return WEIGHT.edit
  const long = unknown.stem.length >= MIN_TWO_EDITS_CHARACTERS && word.length >= MIN_TWO_EDITS_CHARACTERS - 1
  return long && isWithinTwoEdits(unknown.stem, word) ? WEIGHT.twoEdits : 0
}

/** The most likely full form of a stem: `repository` for `repositori`, `create` for `creat`. */
function fullForm(word: string): string {
  return word.endsWith('i') ? `${word.slice(0, -1)}y` : `${word}e`
}

/** The weight of a word of which the unknown one is the beginning, or the reverse, otherwise 0. */
function cutShort(unknown: string, word: string): number {
  const longer = word.length - unknown.length
  if (
    longer > 0 &&
    longer <= MAX_LONGER &&
    unknown.length >= MIN_CLIPPED_CHARACTERS &&
    word.startsWith(unknown)
  )
    return (WEIGHT.prefix * unknown.length) / word.length
  if (longer <= 0 && -longer <= MAX_SHORTER && word.length >= MIN_EDIT_CHARACTERS && unknown.startsWith(word))
    return (WEIGHT.prefix * word.length) / unknown.length
  return 0
}

/** The weight of a word that may have been abbreviated by leaving out letters, mostly vowels (`scrnshot`, `usr`, `msg`, `pkg`), otherwise 0. */
function clipped({ clip, skeleton }: Unknown, word: string): number {
  if (clip.length < MIN_CLIPPED_CHARACTERS || clip.length >= word.length || !isSubsequence(clip, word))
    return 0
  if (skeleton === skeletonOf(word)) return WEIGHT.skeleton
  const endsAlike = clip.at(-1) === word.at(-1)
  return endsAlike && clip.length >= MIN_CLIPPED_SHARE * word.length ? WEIGHT.clipped : 0
}

/** The first letter and the consonants after it, doubled ones once. */
function skeletonOf(word: string): string {
  return (
    word.charAt(0) +
    word
      .slice(1)
      .replace(/[aeiouy]/g, '')
      .replace(/(.)\1+/g, '$1')
  )
}

function isSubsequence(letters: string, word: string): boolean {
  let at = 0
  for (let i = 0; i < word.length && at < letters.length; i++) if (word[i] === letters[at]) at++
  return at === letters.length
}
