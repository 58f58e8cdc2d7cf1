/** From which addresses the keys of an issuer may be fetched. Pure. */
import { isLoopback } from '../../core/host-guard.ts'

/**
 * Whether keys may be fetched from `uri`, which the metadata of an issuer names. Without TLS only from the issuer's own origin, for which the schema
 * allows that on loopback and in the cluster. On loopback only if the issuer is there too: others must not choose among the services of this machine.
 */
export function mayHaveKeysOf(issuer: string, uri: string): boolean {
  const [url, issuerUrl] = [URL.parse(uri), URL.parse(issuer)]
  if (!url || !issuerUrl || (isLoopback(url) && !isLoopback(issuerUrl))) return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && url.origin === issuerUrl.origin)
}
