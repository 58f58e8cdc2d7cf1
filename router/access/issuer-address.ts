/** Where the keys of an issuer may be. */
import { isLoopback } from '../../core/host-guard.ts'

/**
 * Whether keys are fetched where the metadata of an issuer says. Without TLS only where the issuer is, which the schema allows on loopback and
 * in the cluster; on loopback only if the issuer is there, since nobody else is to choose among the services of this machine.
 */
export function mayHaveKeysOf(issuer: string, uri: string): boolean {
  const [url, own] = [URL.parse(uri), URL.parse(issuer)]
  if (!url || !own || (isLoopback(url) && !isLoopback(own))) return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && url.origin === own.origin)
}
