/** Finds the names most similar to one that does not exist, for "did you mean". Pure. */
import { fold, splitIdentifier } from '../../../core/catalog/identifiers.ts'
import { compare } from '../../../core/compare.ts'
import { editDistance } from '../../../crds/nearest.ts'

const MAX_CHARACTERS = 200
/** Weight of the share of the wanted name's trigrams that the candidate has; the reverse share has the rest. */
const WANTED_SHARE = 0.6
/** How many of the most similar names are compared letter by letter. */
const SHORTLIST = 24
/** Equal names have a similarity of 2, names without a common letter 0. */
export const SIMILAR = 0.5

/** The `limit` most similar of `names`: by common trigrams and edit distance, then by name. `least`: those of a smaller similarity are left out. */
export function nearestNames(wanted: string, names: Iterable<string>, limit: number, least = 0): string[] {
  const wantedTrigrams = trigramsOf(wanted)
  return [...names]
    .map((name): Near => ({ name, similarity: similarityOf(wantedTrigrams, trigramsOf(name)) }))
    .sort(bySimilarity)
    .slice(0, SHORTLIST)
    .map(({ name, similarity }) => ({ name, similarity: similarity + editSimilarity(wanted, name) }))
    .filter(({ similarity }) => similarity >= least)
    .sort(bySimilarity)
    .slice(0, limit)
    .map(entry => entry.name)
}

type Near = { name: string; similarity: number }

function bySimilarity(a: Near, b: Near): number {
  return b.similarity - a.similarity || compare(a.name, b.name)
}

/** 1 minus the edit distance as a share of the longer name; case does not count. */
function editSimilarity(a: string, b: string): number {
  const [wanted, name] = [a.slice(0, MAX_CHARACTERS).toLowerCase(), b.slice(0, MAX_CHARACTERS).toLowerCase()]
  return 1 - editDistance(wanted, name) / Math.max(wanted.length, name.length, 1)
}

/** How much two sets of trigrams have in common, 0 to 1. */
function similarityOf(wanted: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let common = 0
  for (const trigram of wanted) if (other.has(trigram)) common++
  return (WANTED_SHARE * common) / wanted.size + ((1 - WANTED_SHARE) * common) / other.size
}

/** The trigrams of every word of a name, with a space before and after the word. */
function trigramsOf(name: string): Set<string> {
  const words = splitIdentifier(fold(name.slice(0, MAX_CHARACTERS)))
    .toLowerCase()
    .split(/\s+/)
  const trigrams = new Set<string>()
  for (const word of words) {
    const padded = ` ${word} `
    for (let at = 0; at + 3 <= padded.length; at++) trigrams.add(padded.slice(at, at + 3))
    if (padded.length < 3) trigrams.add(padded)
  }
  return trigrams
}
