/** The action that a query asks for: that of its leading verb, or reading if it is a question. Pure. */
import { actionOf, actionsOf } from './actions.ts'
import type { Lexicon } from './lexicon.ts'
import type { Word } from './text.ts'

export type Intent = {
  /** Bits of the action classes asked for; 0 if the query does not say. */
  classes: number
  /** Whether the query begins with a question word. */
  question: boolean
  /** Bits of the classes of all verbs in the query, without words after a reading verb that are mostly objects. */
  mentioned: number
  /** Bits of the classes of the verbs among its first words: agents often write the product before the verb. */
  early: number
  /** Whether one of its first words plainly asks to read, and no second action may follow. */
  plain: boolean
}

/** Words that may precede the verb: `could you please show me`. */
const LEADS = wordSet(
  'please kindly can could would will should i id im ive you we me us want wants need needs like love to let lets ' +
    'help the a an my our try should now just also then next hey hi hello ok so',
)
const QUESTIONS = wordSet(
  'what which who whom whose when where why how is are was were do does did has have had any am',
)
/** Not `show` ("show everyone that I am away"), nor words that are often nouns or have other meanings: `list`, `display`, `open`, `save`. */
const PLAIN = wordSet('get read view find search fetch retrieve')
/** After these, another action may follow a reading verb. */
const JOINS = wordSet('and then or to but before after that which')
/** Words with the stem of a verb of change that are mostly objects after a reading verb. Others say what to do as well: `find replace text`. */
const OBJECT =
  /^(?:(?:message|post|email|reply|tweet|draft|book|booking|plan|run|call|copy|fork|schedule|[a-z]+(?:[ts]ion|ment|er|or))s?|replies|copies|changes|updates)$/
const PERSONS = wordSet('i we you one')
/** The verb is early in "google maps get directions". */
const EARLY_WORDS = 3
/** Factors for tools that do something other than asked, and for those that read, as asked, but in another way. */
const OTHER_ACTION = 0.9
const OTHER_READING = 0.97
/** Factor for tools that change something although a question asks to read, and that only read although something is to be switched on or off. */
const OPPOSITE = 0.8

/** Only the verb that leads, or follows the product's name, counts: others are often nouns (`book`, `record`) or belong to its
 * object. `isProduct`: whether a term names a product of the catalog. */
export function intentOf(
  words: readonly Word[],
  lexicon: Lexicon,
  isProduct: (term: string) => boolean = () => false,
): Intent {
  const start = skipLeads(words, 0)
  const verb = isHowTo(words, start) ? skipLeads(words, start + 2) : start
  const first = words.slice(0, EARLY_WORDS)
  const said = {
    mentioned: mentionedIn(words, lexicon),
    early: actionsOf(first, lexicon),
    plain: first.some(({ text }) => PLAIN.has(text)) && !words.some(({ text }) => JOINS.has(text)),
  }
  if (verb === start && QUESTIONS.has(words[start]?.text ?? ''))
    return { classes: lexicon.reading, question: true, ...said }
  const opening = words[verb]?.term ?? ''
  const afterProduct = lexicon.action(opening) === 0 && isProduct(opening)
  const classes = actionOf(words, afterProduct ? verb + 1 : verb, lexicon)
  return { classes, question: false, ...said }
}

/** `message` changes something in "message the team", but not in "slack get message". */
function mentionedIn(words: readonly Word[], lexicon: Lexicon): number {
  let bits = 0
  let reads = false
  for (const [at, { text }] of words.entries()) {
    const classes = actionOf(words, at, lexicon)
    reads &&= !JOINS.has(text)
    if (!reads || !OBJECT.test(text)) bits |= classes
    reads ||= (classes & lexicon.reading) !== 0
  }
  return bits
}

/** The factor on a tool's score by its action classes (bits). An update also fits a request to switch on or off, for which few servers have a separate tool. */
export function intentFactor(
  { classes, question }: Pick<Intent, 'classes' | 'question'>,
  toolClasses: number,
  { reading, switching, updating }: Pick<Lexicon, 'reading' | 'switching' | 'updating'>,
): number {
  const switches = (classes & switching) !== 0
  const asked = switches ? classes | updating : classes
  if (asked === 0 || toolClasses === 0 || (toolClasses & asked) !== 0) return 1
  const onlyReads = (toolClasses & ~reading) === 0
  if (question || (switches && onlyReads)) return OPPOSITE
  return (toolClasses & reading) !== 0 && (asked & reading) !== 0 ? OTHER_READING : OTHER_ACTION
}

function skipLeads(words: readonly Word[], from: number): number {
  let at = from
  while (at < words.length && LEADS.has((words[at] as Word).text)) at++
  return at
}

/** `how to`, `how do I`: the verb follows. */
function isHowTo(words: readonly Word[], at: number): boolean {
  if (words[at]?.text !== 'how') return false
  return words[at + 1]?.text === 'to' || PERSONS.has(words[at + 2]?.text ?? '')
}

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(' '))
}
