/** Splits names, sentences and queries into the terms of the index. Pure. */
import porter2 from 'wink-porter2-stemmer'
import { fold, splitIdentifier } from '../../../core/catalog/identifiers.ts'
import stopwordList from './data/stopwords.json' with { type: 'json' }

/** One word of a text after identifiers were split, in lower case. CJK text yields bigrams. */
export type Word = {
  text: string
  /** Its stem, the form used in the index. */
  term: string
  /** Index of the run of characters it belongs to: `create_issue` yields two words of one run. */
  run: number
}

const RUN = /[\p{L}\p{N}_][\p{L}\p{N}_\-.']*/gu
const CJK = /[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]/
const CJK_RUN = /[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]+/g
/** Maximum length of the joined form of a compound: `site_map` is also found as `sitemap`. */
const MAX_COMPOUND_CHARACTERS = 24
const MAX_COMPOUND_PARTS = 4
const STOPWORDS: ReadonlySet<string> = new Set(stopwordList.words.split(' '))

/**
 * Porter2 stem of a lower-case ASCII word; anything else as it is, also more letters in a row than words have: the stemmer takes quadratic
 * time for them.
 */
export function stem(word: string): string {
  return /^[a-z]{3,64}$/.test(word) ? porter2(word) : word
}

/** Whether an English word looks like a plural: `pods`, not `status`, `access` or `analysis`. */
export function isPlural(word: string): boolean {
  return word.length > 3 && /[^sui]s$/.test(word)
}

export function isStopword(word: string): boolean {
  return STOPWORDS.has(word)
}

/** The words of a text in order, stopwords included. */
export function wordsOf(text: string, stemWord: Stemmer = stem): Word[] {
  const runs = fold(text).match(RUN) ?? []
  return runs.flatMap((characters, run) =>
    splitRun(characters).map(part => ({ text: part, term: stemWord(part), run })),
  )
}

export type Stemmer = (word: string) => string

/** A stemmer with an unbounded cache: created for one build and dropped with it. */
export function createStemmer(): Stemmer {
  const known = new Map<string, string>()
  return word => {
    let term = known.get(word)
    if (term === undefined) {
      term = stem(word)
      known.set(word, term)
    }
    return term
  }
}

export type TermReader = {
  /** Stemmed terms without stopwords, each compound followed by its joined form. */
  terms(text: string | undefined): string[]
  /** The words of a text in order, stopwords included. */
  words(text: string): Word[]
}

/** A reader of document texts. It caches every run of characters, so it is created for one build of an index. */
export function createTermReader(): TermReader {
  const stemWord = createStemmer()
  const seen = new Map<string, readonly string[]>()
  const read = (characters: string) => {
    let terms = seen.get(characters)
    if (terms === undefined) {
      terms = termsOfRun(characters, stemWord)
      seen.set(characters, terms)
    }
    return terms
  }
  return {
    terms(text) {
      const all: string[] = []
      for (const characters of text ? (fold(text).match(RUN) ?? []) : [])
        for (const term of read(characters)) all.push(term)
      return all
    },
    words: text => wordsOf(text, stemWord),
  }
}

function termsOfRun(characters: string, stemWord: Stemmer): string[] {
  const parts = splitRun(characters)
  const terms = parts.filter(part => !STOPWORDS.has(part)).map(stemWord)
  if (parts.length > 1 && parts.length <= MAX_COMPOUND_PARTS && !CJK.test(characters)) {
    const joined = parts.join('')
    if (joined.length <= MAX_COMPOUND_CHARACTERS) terms.push(joined)
  }
  return terms
}

/** The words of a run of characters; CJK text yields bigrams. */
function splitRun(characters: string): string[] {
  if (!CJK.test(characters)) return splitWords(characters)
  return [...bigrams(characters), ...splitWords(characters.replace(CJK_RUN, ' '))]
}

function splitWords(characters: string): string[] {
  return splitIdentifier(characters)
    .toLowerCase()
    .replace(/'s\b|'/g, '')
    .split(/\s+/)
    .filter(part => part !== '')
}

function bigrams(characters: string): string[] {
  const letters = [...characters].filter(letter => CJK.test(letter))
  if (letters.length === 1) return letters
  return letters.slice(1).map((letter, at) => `${letters[at]}${letter}`)
}
