/** The names that come nearest to one that does not exist: "did you mean". Pure. */
import { fold, splitIdentifier } from './text.ts'

const MAX_CHARACTERS = 200
/** A name must share this much with the wanted one to be worth showing. */
const MIN_LIKENESS = 0.3
/** What counts more: that the wanted name is found in the other, rather than the other way round. */
const WANTED_SHARE = 0.6

/** At most `limit` of `names`, nearest first by their common letter triples; equal ones by name. */
export function nearestNames(wanted: string, names: Iterable<string>, limit: number): string[] {
  const own = triplesOf(wanted)
  const near: { name: string; likeness: number }[] = []
  for (const name of names) {
    const likeness = likenessOf(own, triplesOf(name))
    if (likeness >= MIN_LIKENESS) near.push({ name, likeness })
  }
  return near
    .sort((a, b) => b.likeness - a.likeness || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    .slice(0, limit)
    .map(entry => entry.name)
}

function likenessOf(wanted: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let common = 0
  for (const triple of wanted) if (other.has(triple)) common++
  return (WANTED_SHARE * common) / wanted.size + ((1 - WANTED_SHARE) * common) / other.size
}

/** The triples of letters of every word of a name, with a space before and after the word. */
function triplesOf(name: string): Set<string> {
  const words = splitIdentifier(fold(name.slice(0, MAX_CHARACTERS)))
    .toLowerCase()
    .split(/\s+/)
  const triples = new Set<string>()
  for (const word of words) {
    const padded = ` ${word} `
    for (let at = 0; at + 3 <= padded.length; at++) triples.add(padded.slice(at, at + 3))
    if (padded.length < 3) triples.add(padded)
  }
  return triples
}
