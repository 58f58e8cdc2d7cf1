/** Translates German, Spanish, French and Chinese queries word by word with word lists; leaves English queries unchanged. Pure. */
import products from '../../../core/catalog/data/products.json' with { type: 'json' }
import { fold } from '../../../core/catalog/identifiers.ts'
import lists from './data/foreign.json' with { type: 'json' }
import lexicon from './data/lexicon.json' with { type: 'json' }

/** A query in another language, translated word by word. */
export type Gloss = {
  /** The query in English; unknown words are left unchanged. */
  text: string
  /** Each known word, case-folded, with its English translations. */
  words: readonly { word: string; english: readonly string[] }[]
  /** Function words, such as `mir` and `pour`, case-folded. */
  functionWords: readonly string[]
}

/** Returns undefined for a query that looks English. */
export type Glossary = (query: string) => Gloss | undefined

type WordList = {
  functionWords: ReadonlySet<string>
  english: ReadonlySet<string>
  exact: Map<string, string[]>
  byRoot: Map<string, string[]>
  /** Longest first. */
  chinese: { characters: string; english: string[] }[]
}

const HAN_RUN = /[\u3400-\u9fff]+/g
const TOKEN = /€?[\p{L}\p{N}_.\-']+/gu
/** Marks a token of the folded query that is already English. */
const MARK = '€'
const MIN_ROOT_CHARACTERS = 4
const MIN_COMPOUND_CHARACTERS = 9
/** Minimum share of foreign words. */
const MIN_FOREIGN_SHARE = 0.3

export function createGlossary(): Glossary {
  const list = readLists()
  return query => glossOf(list, foldGerman(query))
}

function readLists(): WordList {
  const exact = new Map<string, string[]>()
  const byRoot = new Map<string, string[]>()
  for (const line of lists.european) {
    const [word = '', ...english] = line.split(' ')
    const root = rootOf(word)
    if (!exact.has(word)) exact.set(word, english)
    if (root.length >= MIN_ROOT_CHARACTERS && !byRoot.has(root)) byRoot.set(root, english)
  }
  const known = [lexicon.neighbours, lexicon.jargon, Object.entries(products).flat()].flat().join(' ')
  return {
    functionWords: new Set(lists.functionWords.split(' ')),
    english: new Set(known.toLowerCase().split(/[\s:]+/)),
    exact,
    byRoot,
    chinese: lists.chinese
      .map(line => line.split(' '))
      .map(([characters = '', ...english]) => ({ characters, english }))
      .sort((a, b) => b.characters.length - a.characters.length),
  }
}

/**
 * A query counts as foreign if a third of it is Han with a known word, or if a third of its words, and at least two, are function
 * words or words that the list contains and English does not.
 */
function glossOf(list: WordList, query: string): Gloss | undefined {
  const words: { word: string; english: readonly string[] }[] = []
  const text: string[] = []
  let foreign = 0
  const functionWords: string[] = []
  for (const token of withHanRead(list, query, words).match(TOKEN) ?? []) {
    if (token.startsWith(MARK)) {
      text.push(...token.slice(1).split('_'))
      continue
    }
    const word = token.replace(/^[ld]'|[.'-]+$/g, '')
    if (list.functionWords.has(word)) {
      functionWords.push(word)
      continue
    }
    const english = translate(list, word)
    text.push(...(english === undefined || english[0] === word ? [word] : english))
    if (english === undefined) continue
    words.push({ word, english })
    if (!list.english.has(word)) foreign++
  }
  const han = (query.match(HAN_RUN) ?? []).join('').length / Math.max(1, query.replace(/\s/g, '').length)
  const sure =
    foreign >= 2 ||
    (foreign >= 1 && functionWords.length >= 1) ||
    (functionWords.length >= 3 && words.length > 0)
  const share = (foreign + functionWords.length) / Math.max(1, text.length + functionWords.length)
  const isForeign = (han >= MIN_FOREIGN_SHARE && words.length > 0) || (sure && share >= MIN_FOREIGN_SHARE)
  return isForeign ? { text: text.join(' '), words, functionWords } : undefined
}

/** Replaces Han words of the list, longest first, and drops the other characters. */
function withHanRead(
  list: WordList,
  query: string,
  words: { word: string; english: readonly string[] }[],
): string {
  return query.replace(HAN_RUN, run => {
    const tokens: string[] = []
    for (let at = 0; at < run.length; ) {
      const entry = list.chinese.find(({ characters }) => run.startsWith(characters, at))
      if (entry) {
        tokens.push(MARK + entry.english.join('_'))
        words.push({ word: entry.characters, english: entry.english })
      }
      at += entry?.characters.length ?? 1
    }
    return ` ${tokens.join(' ')} `
  })
}

/** A word, or the two halves of a German compound. */
function translate(list: WordList, word: string): string[] | undefined {
  const whole = lookUp(list, word)
  if (whole || word.length < MIN_COMPOUND_CHARACTERS) return whole
  for (let at = MIN_ROOT_CHARACTERS; at <= word.length - MIN_ROOT_CHARACTERS; at++) {
    const second = lookUp(list, word.slice(at))
    if (!second) continue
    const head = word.slice(0, at)
    const first = lookUp(list, head) ?? (/[sn]$/.test(head) ? lookUp(list, head.slice(0, -1)) : undefined)
    if (first) return [first[0] ?? '', second[0] ?? '']
  }
  return undefined
}

function lookUp(list: WordList, word: string): string[] | undefined {
  const exact = list.exact.get(word) ?? list.exact.get(word.replace(/([aou])e/g, '$1'))
  if (exact) return exact
  const root = rootOf(word)
  return root.length >= MIN_ROOT_CHARACTERS ? list.byRoot.get(root) : undefined
}

/** Removes an ending of German, Spanish or French inflection. */
function rootOf(word: string): string {
  if (word.length < 5) return word
  return word.replace(/(ern|ent|ons|ez|en|er|es|em|st|ar|ir|as|os|e|n|s|t|r|a|o)$/, '')
}

function foldGerman(query: string): string {
  return fold(query).toLowerCase().replace(/ß/g, 'ss')
}
