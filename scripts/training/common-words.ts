/**
 * Writes the words that are common in requests for tools of any kind. The search does not take them for names of products.
 * `node scripts/training/common-words.ts`; run it after a change of the training data, before confidence.ts.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isStopword, wordsOf } from '../../router/catalog/search/text.ts'
import { heldOutServers, type InventedServer, inventedServers } from './invented.ts'

const FILE = join(import.meta.dirname, '..', '..', 'router', 'catalog', 'search', 'data', 'common-words.json')
/** A word is common if it occurs in descriptions of, or queries for, tools of at least this number of servers. */
const MIN_SERVERS = 11

function termsOf({ tools }: InventedServer): Set<string> {
  const texts = tools.flatMap(({ description, terse, everyday, paraphrase, more }) => [
    description,
    terse,
    ...everyday,
    paraphrase,
    ...(more ? [more.question, more.paraphrase, more.short] : []),
  ])
  const words = texts.flatMap(text => wordsOf(text))
  return new Set(words.filter(({ text }) => !isStopword(text)).map(({ term }) => term))
}

const heldOut = heldOutServers()
const counts = new Map<string, number>()
const servers = inventedServers().filter(({ server }) => !heldOut.has(server))
for (const server of servers)
  for (const term of termsOf(server)) counts.set(term, (counts.get(term) ?? 0) + 1)
const common = [...counts].filter(([term, count]) => count >= MIN_SERVERS && /^\p{L}+$/u.test(term))
const words = common.map(([term]) => term).sort()
const from = { script: 'scripts/training/common-words.ts', servers: servers.length, words: words.length }
writeFileSync(FILE, `${JSON.stringify({ words: words.join(' '), from }, undefined, 2)}\n`)
