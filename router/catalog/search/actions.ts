/** Which kinds of action a tool does: create, list, search, delete, … Pure. */
import type { Lexicon } from './lexicon.ts'
import type { SearchDocument } from './search-index.ts'
import type { TermReader, Word } from './text.ts'

/** Characters and words of a description in which its verb is looked for. */
const VERB_CHARACTERS = 60
const VERB_WORDS = 3
/** Names of things that are no verbs, although one of their words is: a pull request is not pulled. */
const NOUNS: ReadonlySet<string> = new Set(['pull request', 'merg request', 'check run', 'search result'])

/** Bits of the classes of a tool's verbs: those of its name, or else of the beginning of its description. */
export function toolActions(document: SearchDocument, reader: TermReader, lexicon: Lexicon): number {
  const beginning = document.description?.slice(0, VERB_CHARACTERS) ?? ''
  return (
    actionsOf(reader.words(document.tool), lexicon) ||
    actionsOf(reader.words(beginning).slice(0, VERB_WORDS), lexicon)
  )
}

/** Bits of the classes of all verbs among the words. */
function actionsOf(words: readonly Word[], lexicon: Lexicon): number {
  return words.reduce((bits, _word, at) => bits | actionOf(words, at, lexicon), 0)
}

/** Bits of the class of the word at a position, which may be a verb of two words; 0 for what is no verb. */
export function actionOf(words: readonly Word[], at: number, lexicon: Lexicon): number {
  const term = words[at]?.term
  if (term === undefined) return 0
  const phrase = `${term} ${words[at + 1]?.term}`
  const isNoun = NOUNS.has(phrase) || NOUNS.has(`${words[at - 1]?.term} ${term}`)
  return isNoun ? 0 : lexicon.action(phrase) | lexicon.action(term)
}
