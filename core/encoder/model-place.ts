/** The path of the sentence encoder's model file. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { MODEL_FILE } from './model-name.mjs'

export { MODEL_FILE }

/** The path in the cache, to which `portolan model` writes by default. */
export function cachedModelFile(cacheFolder: string): string {
  return join(cacheFolder, 'model', MODEL_FILE)
}

/**
 * PORTOLAN_MODEL, if it is set. Otherwise the file beside the bundle, where the image has it, if it exists; otherwise the path in the
 * cache folder, if one is given. The returned file need not exist.
 */
export function modelFileOf(env: Readonly<Record<string, string | undefined>>, cacheFolder?: string): string {
  if (env.PORTOLAN_MODEL) return env.PORTOLAN_MODEL
  const beside = join(import.meta.dirname, MODEL_FILE)
  return cacheFolder === undefined || existsSync(beside) ? beside : cachedModelFile(cacheFolder)
}
