/** Relations between words: near-synonyms, jargon and everyday words, abbreviations, classes of actions. Pure. */
import actionWords from './data/actions.json' with { type: 'json' }
import lists from './data/lexicon.json' with { type: 'json' }
import { createStemmer, stem } from './text.ts'

export type Lexicon = {
  /** Stems that may stand for a stem, each with its weight (at most 1). */
  neighbours(term: string): ReadonlyMap<string, number> | undefined
  /** Every stem that has neighbours. */
  words(): IterableIterator<string>
  /** What an abbreviation stands for: `kubernetes` for `k8s`. */
  expansion(abbreviation: string): string | undefined
  /** A full word with this stem, for display. */
  written(term: string): string
  /** The action class that a stem (or two: `turn on`) names, as one bit; 0 if it is not a verb. */
  action(term: string): number
  /** The names of the classes in a bit set. */
  classNames(bits: number): string[]
  /** Bits of the classes that only read, of those that change something, of those that list, switch on or off, and update. */
  reading: number
  changing: number
  listing: number
  switching: number
  updating: number
}

/** Share of its weight that a term passes to its neighbour. */
const NEIGHBOUR = 0.5
/** Factors on that share by the kind of relation; `jargonBack`: from the jargon to an everyday word; `abbreviationBack`: from one of several words to their abbreviation. */
const WEIGHTS = {
  synonym: 1,
  group: 0.7,
  jargon: 0.7,
  jargonBack: 0.4,
  abbreviation: 1.6,
  abbreviationBack: 0.8,
}
const READING = ['get', 'list', 'search', 'download']
/** Without verbs such as `run`, which change something or not, depending on their object. */
const CHANGING = [
  'create',
  'delete',
  'update',
  'send',
  'stop',
  'copy',
  'upload',
  'merge',
  'schedule',
  'assign',
  'revoke',
  'enable',
  'disable',
]
const LISTING = ['list', 'search']
const SWITCHING = ['enable', 'disable']
const UPDATING = ['update']

/** Reads the word lists. Takes some 20 ms, so it yields between lists, and one lexicon is reused by later indexes. */
export function* buildLexicon(): Generator<void, Lexicon> {
  const stemWord = createStemmer()
  const written = new Map<string, string>()
  const stems = (line: string) =>
    line.split(/[\s:]+/).map(word => {
      const term = stemWord(word)
      if (!written.has(term)) written.set(term, word)
      return term
    })
  const edges = new Map<string, Map<string, number>>()
  for (const line of lists.synonyms) addGroup(edges, stems(line), WEIGHTS.synonym)
  yield
  for (const line of lists.neighbours) addGroup(edges, stems(line), WEIGHTS.group)
  yield
  for (const line of lists.abbreviations) addAbbreviation(edges, stems(line))
  yield
  for (const line of lists.jargon) addJargon(edges, stems(line))
  yield
  const expansions = new Map(
    lists.abbreviations.map(line => [line.split(' ', 1)[0], line.replace(/^\S+ /, '')]),
  )
  const classes = Object.keys(actionWords)
  const actions = new Map<string, number>()
  for (const [at, words] of Object.values(actionWords).entries())
    for (const verb of words.split(' ').map(stemPhrase)) if (!actions.has(verb)) actions.set(verb, 1 << at)
  const bitsOf = (names: readonly string[]) =>
    names.reduce((bits, name) => bits | (1 << classes.indexOf(name)), 0)
  return {
    neighbours: term => edges.get(term),
    words: () => edges.keys(),
    expansion: abbreviation => expansions.get(abbreviation),
    written: term => written.get(term) ?? term.replace(/i$/, 'y'),
    action: term => actions.get(term) ?? 0,
    classNames: bits => classes.filter((_name, at) => (bits & (1 << at)) !== 0),
    reading: bitsOf(READING),
    changing: bitsOf(CHANGING),
    listing: bitsOf(LISTING),
    switching: bitsOf(SWITCHING),
    updating: bitsOf(UPDATING),
  }
}

type Edges = Map<string, Map<string, number>>

/** Relates every word of a line to every other. */
function addGroup(edges: Edges, words: string[], weight: number): void {
  const group = new Set(words)
  for (const from of group) for (const to of group) addEdge(edges, from, to, weight)
}

/** Adds a line such as `k8s kubernetes`. Several words lead back to their abbreviation with less weight. */
function addAbbreviation(edges: Edges, [short = '', ...long]: string[]): void {
  for (const word of long) {
    addEdge(edges, short, word, WEIGHTS.abbreviation)
    addEdge(edges, word, short, long.length === 1 ? WEIGHTS.abbreviation : WEIGHTS.abbreviationBack)
  }
}

/** Adds a line such as `pod: container workload`: an everyday word leads to the jargon with more weight than the reverse. */
function addJargon(edges: Edges, [jargon = '', ...everyday]: string[]): void {
  for (const word of everyday) {
    addEdge(edges, word, jargon, WEIGHTS.jargon)
    addEdge(edges, jargon, word, WEIGHTS.jargonBack)
  }
}

/** Adds an edge between two words. If there is one already, the higher weight counts. */
function addEdge(edges: Edges, from: string, to: string, weight: number): void {
  if (from === to) return
  const row = edges.get(from) ?? new Map<string, number>()
  edges.set(from, row)
  row.set(to, Math.max(row.get(to) ?? 0, Math.min(1, NEIGHBOUR * weight)))
}

/** The stems of a verb in the list, separated by spaces: `turn on` for `turn_on`. */
function stemPhrase(phrase: string): string {
  return phrase.split('_').map(stem).join(' ')
}
