/** What a laptop has for the search by meaning: the model and vectors in the cache folder, and the key of a service. */
import { join } from 'node:path'
import { modelFileOf } from '../core/encoder/model-place.ts'
import { openVectorCache } from '../core/encoder/vector-cache.ts'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { openEmbedded } from '../router/semantic/embedded.ts'
import type { SemanticDependencies } from '../router/semantic/semantic.ts'

/** Of one service; some 1.5 KB each. */
const MAX_VECTORS = 20_000

type Places = { cacheFolder: string; env: Readonly<Record<string, string>>; log: Log }

/** `embeddingsKey`: of the gateway that is served now. */
export function semanticDependencies(
  { cacheFolder, env, log }: Places,
  embeddingsKey: () => string | undefined,
): SemanticDependencies {
  const onCacheFailure = (error: unknown) =>
    log.warn({ detail: messageOf(error) }, 'vectors could not be written to the cache')
  const cacheFile = join(cacheFolder, 'vectors', 'embedded.bin')
  return {
    // Looked for every time: it may have been fetched meanwhile.
    openEmbedded: onLost =>
      openEmbedded({ modelFile: modelFileOf(env, cacheFolder), cacheFile, onCacheFailure, onLost }),
    encodesDocuments: true,
    secret: embeddingsKey,
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
