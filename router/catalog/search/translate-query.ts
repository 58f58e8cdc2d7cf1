/** Translates queries in other languages word by word with word lists; leaves English queries unchanged. */
import products from '../../../core/catalog/data/products.json' with { type: 'json' }
import type { Language } from '../../semantic/read-word-lists.ts'
import lexicon from './data/lexicon.json' with { type: 'json' }
import { isEnglish } from './english-words.ts'
import { MAX_QUERY_CHARACTERS, MAX_QUERY_WORDS } from './query-limits.ts'
import { isRare } from './rare-words.ts'
import { isStopword, stem } from './text.ts'
import { createWordLists, foldWord, SPACED, type WordList, type WordLists } from './word-lists.ts'

/** A query in another language, translated word by word. */
export type Translation = {
  language: Language
  /** The query in English. Unknown words in Latin or Cyrillic letters are left unchanged, others are left out. */
  text: string
  /** The query as it was read: folded, without elided articles, and with spaces between known Chinese, Japanese or Korean words. */
  read: string
  /** Each known word once, folded, with its English translations. */
  words: readonly KnownWord[]
  /** Function words, such as `mir` and `pour`, folded. */
  functionWords: readonly string[]
}

type KnownWord = { word: string; english: readonly string[] }

/** Returns undefined for a query that looks English. Caches the last translation. */
export type Translator = (query: string) => Translation | undefined

/** `isProduct`: whether a term names a product of the catalog. */
export type MakeTranslator = (isProduct: (term: string) => boolean) => Translator

const TOKEN = /[\p{L}\p{N}_.\-']+/gu
const LETTER = /\p{L}/u
/** Chinese, Japanese and Korean, whose words are found by the entries of the word list: the first two are written without spaces, Korean words have endings. */
const UNSPACED = /[\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+/g
const KANA = /[\u3040-\u30ff]/
const HANGUL = /[\uac00-\ud7af]/
/** How many characters of these languages count as one word. */
const CHARACTERS_PER_WORD = 2
/** English words that are too short for the filter of English words. */
const SHORT_ENGLISH: ReadonlySet<string> = new Set(
  'ad ai am an as at be by do eg go he hi id ie if in is it me my no of oh ok on or os ox pa pi re so to tv up us vs we'.split(
    ' ',
  ),
)
/** Elided articles and the like before a word in French and Italian (`l'`, `dell'`), and pronouns after a verb in French (`-moi`). */
const ELISION = /^(?:qu|[cdjlmnst]|all|dall|dell|nell|quest|sull|un)'/
const ENCLITIC = /-(?:ce|ci|elle|il|ils|je|la|le|les|moi|nous|on|t-elle|t-il|tu|vous)$/
/** Minimum share of foreign words. */
const MIN_FOREIGN_SHARE = 0.3
/** Minimum sum of the foreignness of words: two words, one of which may also be an English word or a name. */
const MIN_FOREIGN_WORDS = 1.5

/** A word of a query, and how little it looks like English: 0 for a common word of requests and for a product, 0.5 for a rare word, which may be a name, and 1 for others. */
type QueryWord = {
  word: string
  isProduct: boolean
  foreignness: number
  /** The foreignness if it is a function word of a language, even one that is common in requests: there it is only a part of names. */
  asFunctionWord: number
}

/** The word lists are shared by all translators. */
export function prepareTranslators(): MakeTranslator {
  const lists = createWordLists()
  const productWords = Object.entries(products).flat()
  const lexiconWords = new Set(
    [lexicon.neighbours, lexicon.jargon, productWords]
      .flat()
      .join(' ')
      .toLowerCase()
      .split(/[\s:]+/),
  )
  return isProduct => {
    const readWord = (word: string): QueryWord => {
      const term = stem(word)
      if (isProduct(term)) return { word, isProduct: true, foreignness: 0, asFunctionWord: 0 }
      const isCommon =
        word.length < 2 || lexiconWords.has(word) || SHORT_ENGLISH.has(word) || isStopword(word)
      const asFunctionWord = isCommon ? 0 : isEnglish(term) ? 0.5 : 1
      return { word, isProduct: false, foreignness: isRare(term) ? asFunctionWord : 0, asFunctionWord }
    }
    const translate = (query: string) => {
      // Folding can make a text longer.
      const text = foldWord(query.slice(0, MAX_QUERY_CHARACTERS)).slice(0, MAX_QUERY_CHARACTERS)
      return translateUnspaced(text, lists) ?? translateSpaced(tokensOf(text).map(readWord), lists)
    }
    let last: { query: string; translation: Translation | undefined } | undefined
    return query => {
      if (last?.query !== query) last = { query, translation: translate(query) }
      return last.translation
    }
  }
}

/** Undefined if too few of the words are Chinese, Japanese or Korean. Runs of their characters are split into entries of the word list. */
function translateUnspaced(text: string, lists: WordLists): Translation | undefined {
  const runs = (text.match(UNSPACED) ?? []).join('')
  const others = (text.replace(UNSPACED, ' ').match(TOKEN) ?? []).filter(token => LETTER.test(token))
  const words = runs.length / CHARACTERS_PER_WORD
  if (runs === '' || words / (words + others.length) < MIN_FOREIGN_SHARE) return undefined
  const list = lists(HANGUL.test(runs) ? 'ko' : KANA.test(runs) ? 'ja' : 'zh')
  const known = new Map<string, readonly string[]>()
  const functionWords = new Set<string>()
  const read = text.replace(UNSPACED, run => {
    const parts = splitRun(list, run)
    for (const { entry, english } of parts)
      if (english?.length === 0) functionWords.add(entry)
      else if (english) known.set(entry, english)
    return ` ${parts.map(({ entry }) => entry).join(' ')} `
  })
  if (known.size === 0) return undefined
  const english = (read.match(TOKEN) ?? []).flatMap(
    token => known.get(token) ?? (isUnspaced(token) ? [] : [token]),
  )
  return toTranslation(list.language, english, read, known, functionWords)
}

/** The known entries of a run, the longest first, and what is between them. */
function splitRun(list: WordList, run: string): { entry: string; english?: readonly string[] }[] {
  const parts: { entry: string; english?: readonly string[] }[] = []
  let unknown = ''
  for (let at = 0; at < run.length; ) {
    const found = list.entryAt(run, at)
    if (found && unknown !== '') parts.push({ entry: unknown })
    if (found) parts.push(found)
    unknown = found ? '' : unknown + run[at]
    at += found?.entry.length ?? 1
  }
  return unknown === '' ? parts : [...parts, { entry: unknown }]
}

function isUnspaced(token: string): boolean {
  return (token.match(UNSPACED) ?? []).length > 0
}

/**
 * A query counts as foreign if enough of its words are function words or known words of one language, and more than those that are only
 * English. The language that knows the most of them is taken; of two that know equally many, the one with more function words.
 */
function translateSpaced(tokens: readonly QueryWord[], lists: WordLists): Translation | undefined {
  const words = [...new Map(tokens.map(token => [token.word, token])).values()].filter(({ word }) =>
    LETTER.test(word),
  )
  const isEnough = (foreign: number) =>
    foreign >= MIN_FOREIGN_WORDS && foreign / words.length >= MIN_FOREIGN_SHARE
  // Most English queries end here: even if one language knew each of these words, they would not be enough.
  if (!isEnough(words.reduce((sum, { asFunctionWord }) => sum + asFunctionWord, 0))) return undefined
  const counts = SPACED.map(language => countIn(lists(language), words))
  const best = counts.reduce((first, other) => (isBetter(other, first) ? other : first))
  if (!isEnough(best.foreign) || best.foreign <= best.english) return undefined
  const translation = translateWords(best.list, tokens)
  return translation.words.length > 0 ? translation : undefined
}

function tokensOf(text: string): string[] {
  const tokens = (text.match(TOKEN) ?? []).slice(0, MAX_QUERY_WORDS)
  return tokens
    .map(token =>
      token
        .replace(ELISION, '')
        .replace(ENCLITIC, '')
        .replace(/^['.-]+|[.'-]+$/g, ''),
    )
    .filter(token => token !== '')
}

/** How much of a query one language explains. `foreign`: the sum of its known words' foreignness; `english`: how many words are only English. */
type Count = { list: WordList; foreign: number; english: number; functionWords: number }

function countIn(list: WordList, words: readonly QueryWord[]): Count {
  const count = { list, foreign: 0, english: 0, functionWords: 0 }
  for (const { word, isProduct, foreignness, asFunctionWord } of words) {
    if (list.functionWords.has(word)) {
      count.functionWords++
      count.foreign += asFunctionWord
      continue
    }
    const meaning = list.lookUp(word)
    if (meaning) count.foreign += meaning.certainty * foreignness
    else if (foreignness === 0 && !isProduct) count.english++
  }
  return count
}

function isBetter(one: Count, other: Count): boolean {
  return one.foreign === other.foreign ? one.functionWords > other.functionWords : one.foreign > other.foreign
}

/** Products are not translated, and none of their words is dropped: `Le Monde`. */
function translateWords(list: WordList, tokens: readonly QueryWord[]): Translation {
  const known = new Map<string, readonly string[]>()
  const functionWords = new Set<string>()
  const text: string[] = []
  for (const { word, isProduct } of tokens) {
    const english = isProduct ? undefined : list.lookUp(word)?.english
    if (!isProduct && list.functionWords.has(word)) functionWords.add(word)
    else if (english) {
      known.set(word, english)
      // If the best translation is the word itself, the others are for the case that another word was meant.
      text.push(...(english[0] === word ? [word] : english))
    } else text.push(word)
  }
  return toTranslation(list.language, text, tokens.map(({ word }) => word).join(' '), known, functionWords)
}

function toTranslation(
  language: Language,
  english: readonly string[],
  read: string,
  known: ReadonlyMap<string, readonly string[]>,
  functionWords: ReadonlySet<string>,
): Translation {
  const words = [...known].slice(0, MAX_QUERY_WORDS).map(([word, english]) => ({ word, english }))
  return {
    language,
    text: english.slice(0, 2 * MAX_QUERY_WORDS).join(' '),
    read,
    words,
    functionWords: [...functionWords],
  }
}
