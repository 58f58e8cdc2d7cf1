/** Word lists of other languages: the words that are known, and their English translations. */
import { fold } from '../../../core/catalog/identifiers.ts'
import { type Language, readWordLists, type WrittenWords } from '../../semantic/read-word-lists.ts'

export type WordList = {
  language: Language
  /** Articles, prepositions and such, which say nothing about what is asked for; in Japanese and Korean also endings. */
  functionWords: ReadonlySet<string>
  /** What a word of the language means; undefined for an unknown word. */
  lookUp(word: string): Meaning | undefined
  /** The longest entry that the text has at this place; a function word has no English. */
  entryAt(text: string, at: number): { entry: string; english: readonly string[] } | undefined
}

export type Meaning = {
  /** The English words, the best first. */
  english: readonly string[]
  /** How sure it is that the word is of the language: 1 for an entry and its usual inflections, less for long endings and compounds, which names have too. */
  certainty: number
}

/** Languages whose words are separated by spaces. */
export const SPACED: readonly Language[] = ['de', 'es', 'fr', 'it', 'nl', 'pl', 'pt', 'ru', 'tr']

/** An entry that ends in this character is a stem. */
const STEM = '*'
const MIN_STEM_CHARACTERS = 3
/** An inflected word has at most this many characters more than its stem. */
const MAX_ENDING_CHARACTERS = 5
/** Longer endings are seldom inflections. */
const MAX_USUAL_ENDING_CHARACTERS = 2
/** The certainty of words with such endings, and of compounds. */
const UNCERTAIN = 0.5
/** Languages that write compounds as one word. */
const COMPOUNDING: ReadonlySet<Language> = new Set<Language>(['de', 'nl'])
const MIN_PART_CHARACTERS = 4
const MIN_COMPOUND_CHARACTERS = 9
const MAX_COMPOUND_CHARACTERS = 40

export type WordLists = (language: Language) => WordList

/** Reads the lists when a query first needs one. */
export function createWordLists(): WordLists {
  let known: ReadonlyMap<Language, WordList> | undefined
  return language => {
    known ??= new Map(
      (Object.entries(readWordLists()) as [Language, WrittenWords][]).map(([name, written]) => [
        name,
        listOf(name, written),
      ]),
    )
    return known.get(language) as WordList
  }
}

/** A text in the form in which entries are compared: lower case, without accents, with straight apostrophes. */
export function foldWord(text: string): string {
  return fold(text).toLowerCase().replaceAll('’', "'")
}

function listOf(language: Language, { functionWords, words }: WrittenWords): WordList {
  const silent = new Set(foldWord(functionWords).split(' '))
  const entries = new Map<string, readonly string[]>()
  for (const [english, foreign] of Object.entries(words))
    for (const entry of foldWord(foreign).split(' ')) entries.set(entry, english.split(/[ _]/))
  const find: Find = word => {
    const english = entries.get(word)
    return english ? { english, certainty: 1 } : byStem(entries, word)
  }
  const longest = Math.max(...[...entries.keys(), ...silent].map(entry => entry.length))
  return {
    language,
    functionWords: silent,
    lookUp: word => find(word) ?? (COMPOUNDING.has(language) ? ofCompound(find, word) : undefined),
    entryAt: (text, at) => {
      for (let length = Math.min(longest, text.length - at); length > 0; length--) {
        const entry = text.slice(at, at + length)
        const english = silent.has(entry) ? [] : entries.get(entry)
        if (english) return { entry, english }
      }
      return undefined
    },
  }
}

type Find = (word: string) => Meaning | undefined

/** What an inflected word means, by the longest stem that it begins with. */
function byStem(entries: ReadonlyMap<string, readonly string[]>, word: string): Meaning | undefined {
  const minLength = Math.max(MIN_STEM_CHARACTERS, word.length - MAX_ENDING_CHARACTERS)
  for (let length = word.length; length >= minLength; length--) {
    const english = entries.get(word.slice(0, length) + STEM)
    if (!english) continue
    return { english, certainty: word.length - length <= MAX_USUAL_ENDING_CHARACTERS ? 1 : UNCERTAIN }
  }
  return undefined
}

/** What a compound of two known words means: the best English word for each half. */
function ofCompound(find: Find, word: string): Meaning | undefined {
  if (word.length < MIN_COMPOUND_CHARACTERS || word.length > MAX_COMPOUND_CHARACTERS) return undefined
  for (let at = MIN_PART_CHARACTERS; at <= word.length - MIN_PART_CHARACTERS; at++) {
    const second = find(word.slice(at))
    if (!second) continue
    const head = word.slice(0, at)
    const first = find(head) ?? (/[sn]$/.test(head) ? find(head.slice(0, -1)) : undefined)
    if (first)
      return { english: [first.english[0] as string, second.english[0] as string], certainty: UNCERTAIN }
  }
  return undefined
}
