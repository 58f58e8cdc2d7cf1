/** Reads a stream of YAML documents; apart, because the parser is only loaded where it is needed. */
import { parseAllDocuments } from 'yaml'

export function documentsOf(text: string): unknown[] {
  return parseAllDocuments(text).map(document => document.toJS())
}
