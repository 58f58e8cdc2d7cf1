/** The local gateway's configuration from environment variables. */
import { join, resolve } from 'node:path'

/** The folder for installed packages and cached catalogs: `PORTOLAN_CACHE`, else `portolan` in the user's cache folder. */
export function cacheFolder(env: Readonly<Record<string, string | undefined>>): string {
  if (env.PORTOLAN_CACHE) return resolve(env.PORTOLAN_CACHE)
  return resolve(env.XDG_CACHE_HOME || join(env.HOME || '.', '.cache'), 'portolan')
}
