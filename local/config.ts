/** What the laptop's gateway takes from the environment. */
import { join, resolve } from 'node:path'

/** Packages and lists are kept here: `PORTOLAN_CACHE`, else `portolan` in the user's cache folder. */
export function cacheFolder(env: Readonly<Record<string, string | undefined>>): string {
  if (env.PORTOLAN_CACHE) return resolve(env.PORTOLAN_CACHE)
  return resolve(env.XDG_CACHE_HOME || join(env.HOME || '.', '.cache'), 'portolan')
}
