/** The action that a query asks for: the one its leading verb names, or reading if it is a question. Pure. */
import { actionOf } from './actions.ts'
import type { Lexicon } from './lexicon.ts'
import type { Word } from './text.ts'

export type Intent = {
  /** Bits of the action classes asked for; 0 if the query does not say. */
  classes: number
  question: boolean
}

/** Words that may precede the verb: `could you please show me`. */
const LEADS = wordSet(
  'please kindly can could would will should i id im ive you we me us want wants need needs like love to let lets ' +
    'help the a an my our try should now just also then next hey hi hello ok so',
)
const QUESTIONS = wordSet(
  'what which who whom whose when where why how is are was were do does did has have had any am',
)
const PERSONS = wordSet('i we you one')
/** Factors for tools that do something other than asked, and for those that read in another way. */
const OTHER_ACTION = 0.9
const OTHER_READING = 0.97
const NO_READING = 0.8

/** Only the leading verb counts: others are often nouns (`book`, `record`) or belong to the verb's object. */
export function intentOf(words: readonly Word[], lexicon: Lexicon): Intent {
  const start = skipLeads(words, 0)
  const verb = isHowTo(words, start) ? skipLeads(words, start + 2) : start
  if (verb === start && QUESTIONS.has(words[start]?.text ?? ''))
    return { classes: lexicon.reading, question: true }
  return { classes: actionOf(words, verb, lexicon), question: false }
}

/** The factor on a tool's score by its own action classes. */
export function intentFactor({ classes, question }: Intent, own: number, reading: number): number {
  if (classes === 0 || own === 0 || (own & classes) !== 0) return 1
  if (question) return NO_READING
  return (own & reading) !== 0 && (classes & reading) !== 0 ? OTHER_READING : OTHER_ACTION
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
