/** Where the sentence encoder's weights are looked for. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'

export const MODEL_FILE = 'minilm.bin'

/** What `portolan model` writes. */
export function cachedModelFile(cacheFolder: string): string {
  return join(cacheFolder, 'model', MODEL_FILE)
}

/**
 * The file that PORTOLAN_MODEL names, and no other; else the first that is there: beside the bundle, as in the image, or in
 * the cache, where there is one. Where there is none: the place where it would be.
 */
export function modelFileOf(env: Readonly<Record<string, string | undefined>>, cacheFolder?: string): string {
  if (env.PORTOLAN_MODEL) return env.PORTOLAN_MODEL
  const beside = join(import.meta.dirname, MODEL_FILE)
  return cacheFolder === undefined || existsSync(beside) ? beside : cachedModelFile(cacheFolder)
}
