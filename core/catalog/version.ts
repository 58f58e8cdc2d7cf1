/** The version of a server catalog as it is sent to routers: what it offers, and its vectors. Pure. */
import { createHash } from 'node:crypto'
import type { ServerCatalog } from './server-catalog.ts'

/** Changes whenever the digest or the vectors change; equal to the digest if there are no vectors. */
export function catalogVersion({ digest, vectors }: Pick<ServerCatalog, 'digest' | 'vectors'>): string {
  if (!vectors) return digest
  return createHash('sha256').update(`${digest} ${vectors.digest}`).digest('hex')
}
