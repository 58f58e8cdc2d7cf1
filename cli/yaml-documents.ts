/** Reads a stream of YAML documents. A separate module, so that the parser is loaded only when it is needed. */
import { parseAllDocuments } from 'yaml'

export function documentsOf(text: string): unknown[] {
  return parseAllDocuments(text).map(document => document.toJS())
}
