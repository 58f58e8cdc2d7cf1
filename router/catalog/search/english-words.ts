/** Tells English words from others, with a filter that is shipped (scripts/training/english-words.ts). Pure. */
import english from './data/english.json' with { type: 'json' }
import { readWordFilter } from './word-filter.ts'

/** Whether a word is English. Takes its stem, in lower case. One in 15,000 other words is taken for English. */
export const isEnglish = readWordFilter(english.filter)
