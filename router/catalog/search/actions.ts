/** Classifies the actions of a tool: create, list, search, delete, … Pure. */
import type { Lexicon } from './lexicon.ts'
import type { SearchDocument } from './search-index.ts'
import type { TermReader, Word } from './text.ts'

/** How many characters and words of a description are searched for its verb. */
const VERB_CHARACTERS = 60
const VERB_WORDS = 3
/** Compound nouns that contain a verb form: a "pull request" does not pull. */
const NOUNS: ReadonlySet<string> = new Set(['pull request', 'merg request', 'check run', 'search result'])

/** Bits of the action classes of the verbs in a tool's name, or otherwise at the beginning of its description. */
export function toolActions(document: SearchDocument, reader: TermReader, lexicon: Lexicon): number {
  const beginning = document.description?.slice(0, VERB_CHARACTERS) ?? ''
  return (
    actionsOf(reader.words(document.tool), lexicon) ||
    actionsOf(reader.words(beginning).slice(0, VERB_WORDS), lexicon)
  )
}

/** Bits of the action classes of all verbs among the words. */
export function actionsOf(words: readonly Word[], lexicon: Lexicon): number {
  return words.reduce((bits, _word, at) => bits | actionOf(words, at, lexicon), 0)
}

/** Bits of the action class of the verb at a position (of one or two words); 0 if it is not a verb. */
export function actionOf(words: readonly Word[], at: number, lexicon: Lexicon): number {
  const term = words[at]?.term
  if (term === undefined) return 0
  const phrase = `${term} ${words[at + 1]?.term}`
  const isNoun = NOUNS.has(phrase) || NOUNS.has(`${words[at - 1]?.term} ${term}`)
  return isNoun ? 0 : lexicon.action(phrase) | lexicon.action(term)
}
