/** How often each field of a document holds a term: what statistics of a part of the documents are made from. Pure. */
import { FIELDS, type ToolTerms } from './fields.ts'
import type { TermLists } from './postings.ts'

export type Frequencies = {
  /** Read from the documents' terms when they are first asked for, and kept: 16 bytes a document that holds the term. */
  of(term: string): TermFrequencies
  /** How many terms each field of a document has, as in `counts` below. */
  lengths: Uint32Array
}

export type TermFrequencies = {
  /** The documents that hold the term, by id. */
  documents: Int32Array
  /** For each of them and each of `FIELDS`, in this order, how often it holds the term. */
  counts: Uint16Array
}

export const WIDTH = FIELDS.length
const NONE: TermFrequencies = { documents: new Int32Array(), counts: new Uint16Array() }

export function createFrequencies(fields: readonly ToolTerms[], tools: TermLists): Frequencies {
  const known = new Map<string, TermFrequencies>()
  return {
    lengths: Uint32Array.from(
      { length: fields.length * WIDTH },
      (_, at) => inField(fields, Math.floor(at / WIDTH), at % WIDTH).length,
    ),
    of(term) {
      if (tools.count(term) === 0) return NONE
      const found = known.get(term) ?? read(fields, tools, term)
      known.set(term, found)
      return found
    },
  }
}

function read(fields: readonly ToolTerms[], tools: TermLists, term: string): TermFrequencies {
  const documents = new Int32Array(tools.count(term))
  let at = 0
  for (const list of tools.of(term)) for (const document of list ?? []) documents[at++] = document
  documents.sort()
  const counts = new Uint16Array(documents.length * WIDTH)
  for (let at = 0; at < counts.length; at++)
    counts[at] = countOf(inField(fields, documents[Math.floor(at / WIDTH)] as number, at % WIDTH), term)
  return { documents, counts }
}

function inField(fields: readonly ToolTerms[], document: number, field: number): readonly string[] {
  return (fields[document] as ToolTerms)[FIELDS[field] as (typeof FIELDS)[number]]
}

function countOf(terms: readonly string[], term: string): number {
  let count = 0
  for (let at = 0; at < terms.length; at++) if (terms[at] === term) count++
  return count
}
