/** Translates queries in other languages word by word with word lists; leaves English queries unchanged. */
import products from '../../../core/catalog/data/products.json' with { type: 'json' }
import type { Language } from '../../semantic/read-word-lists.ts'
import lexicon from './data/lexicon.json' with { type: 'json' }
import { isEnglish } from './english-words.ts'
import { isRare } from './rare-words.ts'
import { isStopword, stem } from './text.ts'
import { createWordLists, foldWord, SPACED, type WordList, type WordLists } from './word-lists.ts'

/** A query in another language, translated word by word. */
export type Gloss = {
  language: Language
  /** The query in English; unknown words are left unchanged. */
  text: string
  /** Each known word, case-folded, with its English translations. */
  words: readonly { word: string; english: readonly string[] }[]
  /** Function words, such as `mir` and `pour`, case-folded. */
  functionWords: readonly string[]
}

/** Returns undefined for a query that looks English. */
export type Glossary = (query: string) => Gloss | undefined

const TOKEN = /[\p{L}\p{N}_.\-']+/gu
/** What is written without spaces, or with endings that are not worth telling apart. */
const UNSPACED = /[\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+/g
const KANA = /[\u3040-\u30ff]/
const HANGUL = /[\uac00-\ud7af]/
/** English words that the filter of English words is too short for. */
const SHORT_ENGLISH: ReadonlySet<string> = new Set(
  'ad ai am an as at be by do eg go he hi id ie if in is it me my no of oh ok on or ox pa pi re so to tv up us vs we'.split(
    ' ',
  ),
)
const ELISION = /^[dlcjmnst]'/
/** Minimum share of foreign words, or of characters that are not Latin ones. */
const MIN_FOREIGN_SHARE = 0.3
const MIN_FOREIGN_WORDS = 1.5

export function createGlossary(): Glossary {
  const known = [lexicon.neighbours, lexicon.jargon, Object.entries(products).flat()].flat().join(' ')
  const lists = createWordLists()
  const usual = new Set(known.toLowerCase().split(/[\s:]+/))
  const foreignness = (word: string, isFunctionWord: boolean): number => {
    const term = stem(word)
    if (word.length < 2 || usual.has(word) || SHORT_ENGLISH.has(word) || isStopword(word)) return 0
    if (!isFunctionWord && !isRare(term)) return 0
    return isEnglish(term) ? 0.5 : 1
  }
  return query => {
    const text = foldWord(query)
    return unspacedGloss(text, lists) ?? spacedGloss(text, lists, foreignness)
  }
}

/** A Chinese, Japanese or Korean query: its runs of such characters are read from entry to entry, and what is between them is dropped. */
function unspacedGloss(text: string, lists: WordLists): Gloss | undefined {
  const runs = (text.match(UNSPACED) ?? []).join('')
  if (runs === '' || runs.length / text.replace(/\s/g, '').length < MIN_FOREIGN_SHARE) return undefined
  const list = lists(HANGUL.test(runs) ? 'ko' : KANA.test(runs) ? 'ja' : 'zh')
  const words: { word: string; english: readonly string[] }[] = []
  const english = text.replace(UNSPACED, run => ` ${readRun(list, run, words).join(' ')} `)
  if (words.length === 0) return undefined
  const tokens = english.match(TOKEN) ?? []
  return { language: list.language, text: tokens.join(' '), words, functionWords: [] }
}

function readRun(
  list: WordList,
  run: string,
  words: { word: string; english: readonly string[] }[],
): string[] {
  const text: string[] = []
  for (let at = 0; at < run.length; ) {
    const { entry, english } = list.entryAt(run, at) ?? { entry: run[at] as string, english: [] }
    if (english.length > 0) words.push({ word: entry, english })
    text.push(...english)
    at += entry.length
  }
  return text
}

/** How little a word looks like English: 0 for a common word of requests, 0.5 for a rare one, which may be a name, and 1 for what is none. */
type Foreignness = (word: string, isFunctionWord: boolean) => number

/**
 * A query counts as foreign if a third of its words, and at least two of which one may be an English one too, are function words or known
 * words of one language. The language that knows most of them is taken, and of two that know as many the one with more function words.
 */
function spacedGloss(text: string, lists: WordLists, foreignness: Foreignness): Gloss | undefined {
  const tokens = (text.match(TOKEN) ?? []).map(token =>
    token.replace(ELISION, '').replace(/^['.-]+|[.'-]+$/g, ''),
  )
  const isEnough = (foreign: number) =>
    foreign >= MIN_FOREIGN_WORDS && foreign / tokens.length >= MIN_FOREIGN_SHARE
  // Most English queries end here: even if one language knew each of these words, they would not be enough.
  const doubtful = tokens.filter(token => foreignness(token, true) > 0)
  if (!isEnough(doubtful.reduce((sum, token) => sum + foreignness(token, true), 0))) return undefined
  const counts = SPACED.map(language => countIn(lists(language), doubtful, foreignness))
  const best = counts.reduce((first, other) => (isBetter(other, first) ? other : first))
  if (!isEnough(best.foreign)) return undefined
  const gloss = readIn(best.list, tokens)
  return gloss.words.length > 0 ? gloss : undefined
}

type Count = { list: WordList; foreign: number; functionWords: number }

function countIn(list: WordList, words: readonly string[], foreignness: Foreignness): Count {
  const count = { list, foreign: 0, functionWords: 0 }
  for (const word of words) {
    const isFunctionWord = list.functionWords.has(word)
    if (isFunctionWord) count.functionWords++
    if (isFunctionWord || list.translate(word)) count.foreign += foreignness(word, isFunctionWord)
  }
  return count
}

function isBetter(one: Count, other: Count): boolean {
  return one.foreign === other.foreign ? one.functionWords > other.functionWords : one.foreign > other.foreign
}

function readIn(list: WordList, tokens: readonly string[]): Gloss {
  const words: { word: string; english: readonly string[] }[] = []
  const functionWords: string[] = []
  const text: string[] = []
  for (const word of tokens) {
    if (list.functionWords.has(word)) {
      functionWords.push(word)
      continue
    }
    const english = list.translate(word)
    if (english) words.push({ word, english })
    text.push(...(english === undefined || english[0] === word ? [word] : english))
  }
  return { language: list.language, text: text.join(' '), words, functionWords }
}
