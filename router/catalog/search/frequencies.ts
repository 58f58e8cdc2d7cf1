/** How often each field of a document contains a term: the source of statistics for a part of the documents. Pure. */
import { FIELDS, type ToolTerms } from './fields.ts'
import { documentOf, type Postings } from './postings.ts'

export type Frequencies = {
  /** The frequencies of a term. Counted at the first call, then cached: 16 bytes for each document that contains the term. */
  of(term: string): TermFrequencies
  /** How many terms each of `FIELDS` of each document has. */
  lengths: Uint32Array
}

export type TermFrequencies = {
  /** The documents that contain the term, by id. */
  documents: Int32Array
  /** For each of them and each of `FIELDS`, in this order, how often it contains the term. */
  counts: Uint16Array
}

/** How many numbers each document has in `lengths` and `counts`: one for each field. */
export const WIDTH = FIELDS.length
const NONE: TermFrequencies = { documents: new Int32Array(), counts: new Uint16Array() }

/** The numbers of the terms of all documents: those of a document begin at `starts[document]`, and its fields follow each other with the lengths in `lengths`. */
type Rows = { numbers: Int32Array; starts: Int32Array; lengths: Uint32Array }

/** Yields after every document. `postings` must contain all of these documents. */
export function* buildFrequencies(
  fields: readonly ToolTerms[],
  postings: Postings,
): Generator<void, Frequencies> {
  const rows = yield* buildRows(fields, postings)
  const known = new Map<string, TermFrequencies>()
  return {
    lengths: rows.lengths,
    of(term) {
      const number = postings.numberOf(term)
      if (number === undefined) return NONE
      const found = known.get(term) ?? count(rows, number, postings, term)
      known.set(term, found)
      return found
    },
  }
}

function* buildRows(fields: readonly ToolTerms[], { numberOf }: Postings): Generator<void, Rows> {
  const size = fields.reduce((sum, terms) => FIELDS.reduce((all, field) => all + terms[field].length, sum), 0)
  const numbers = new Int32Array(size)
  const starts = new Int32Array(fields.length)
  const lengths = new Uint32Array(fields.length * WIDTH)
  let at = 0
  for (const [document, terms] of fields.entries()) {
    starts[document] = at
    for (const [place, field] of FIELDS.entries()) {
      lengths[document * WIDTH + place] = terms[field].length
      for (const term of terms[field]) numbers[at++] = numberOf(term) as number
    }
    yield
  }
  return { numbers, starts, lengths }
}

/** Counts a term in each field of each document that contains it. `number`: the number of the term. */
function count(rows: Rows, number: number, postings: Postings, term: string): TermFrequencies {
  const documents = Int32Array.from(postings.of(term), documentOf).sort()
  const counts = new Uint16Array(documents.length * WIDTH)
  const { numbers, starts, lengths } = rows
  for (let at = 0; at < documents.length; at++) {
    const document = documents[at] as number
    let place = starts[document] as number
    for (let field = 0; field < WIDTH; field++) {
      const end = place + (lengths[document * WIDTH + field] as number)
      let found = 0
      for (; place < end; place++) if (numbers[place] === number) found++
      counts[at * WIDTH + field] = found
    }
  }
  return { documents, counts }
}
