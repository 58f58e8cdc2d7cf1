/** Names the state of a server catalog as it travels: what it offers, and which vectors of it are known. Pure. */
import { createHash } from 'node:crypto'
import type { ServerCatalog } from './server-catalog.ts'

/** The digest itself where there are no vectors; another one whenever either changes. */
export function catalogVersion({ digest, vectors }: Pick<ServerCatalog, 'digest' | 'vectors'>): string {
  if (!vectors) return digest
  return createHash('sha256').update(`${digest} ${vectors.digest}`).digest('hex')
}
