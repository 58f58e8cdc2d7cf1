/** Reads the word lists of other languages: a data file beside the bundle, as the kinds of tools are. */
import { readInstalled } from '../../core/installed-file.ts'

export type Language = 'de' | 'es' | 'fr' | 'it' | 'ja' | 'ko' | 'nl' | 'pl' | 'pt' | 'ru' | 'tr' | 'zh'

/** Words of a language, separated by spaces: its function words, and by English word, its words and stems that mean the same. */
export type WrittenWords = { functionWords: string; words: Record<string, string> }

/** Throws Fault `io` if the file is missing. */
export function readWordLists(): Record<Language, WrittenWords> {
  const json = readInstalled(new URL('../catalog/search/data/foreign.json', import.meta.url)).toString()
  return JSON.parse(json) as Record<Language, WrittenWords>
}
