/** Dependencies of semantic search on a laptop: the model and vectors in the cache folder, and the embeddings service's key. */
import { join } from 'node:path'
import { modelFileOf } from '../core/encoder/model-place.ts'
import { openVectorCache } from '../core/encoder/vector-cache.ts'
import { messageOf } from '../core/errors.ts'
import type { HostGuard } from '../core/host-guard.ts'
import type { Log } from '../core/log.ts'
import { openEmbedded } from '../router/semantic/embedded.ts'
import type { SemanticDependencies } from '../router/semantic/semantic.ts'

/** How many vectors of an encoder the cache keeps; about 1.5 KB each. */
const MAX_VECTORS = 20_000

type Places = { cacheFolder: string; env: Readonly<Record<string, string>>; log: Log }

/** `hosts`: which addresses may be connected to. `embeddingsKey` returns the API key of the current gateway's embeddings service. */
export function semanticDependencies(
  { cacheFolder, env, log }: Places,
  hosts: HostGuard | undefined,
  embeddingsKey: () => string | undefined,
): SemanticDependencies {
  const onCacheFailure = (error: unknown) =>
    log.warn({ detail: messageOf(error) }, 'vectors could not be written to the cache')
  const cacheFile = join(cacheFolder, 'vectors', 'embedded.bin')
  return {
    // Resolved at each call: the model may have been downloaded meanwhile.
    openEmbedded: onLost =>
      openEmbedded({ modelFile: modelFileOf(env, cacheFolder), cacheFile, onCacheFailure, onLost }),
    encodesDocuments: true,
    secret: embeddingsKey,
    hosts,
    openCache: (encoder, dimensions) =>
      openVectorCache({
        file: join(cacheFolder, 'vectors', `${encoder.replace(/[^a-z0-9]/g, '-')}.bin`),
        encoder,
        dimensions,
        maxVectors: MAX_VECTORS,
        onFailure: onCacheFailure,
      }),
  }
}
