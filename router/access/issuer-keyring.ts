/** The public keys of all JWT issuers of a gateway. Those of an issuer stay while other parts of `auth` change, since it may be unreachable just then. */
import type { JwtIssuerConfig } from '../../core/catalog/access-config.ts'
import { canonicalJson } from '../../core/json.ts'
import { createIssuerKeys, type IssuerKeys, type IssuerKeysOptions } from './issuer-keys.ts'

export type IssuerKeyring = {
  /** The keys of these issuers, in their order. Those of all others are dropped. */
  adopt(issuers: readonly JwtIssuerConfig[]): IssuerKeys[]
  close(): Promise<void>
}

export function createIssuerKeyring(options: IssuerKeysOptions): IssuerKeyring {
  let kept = new Map<string, IssuerKeys>()
  return {
    adopt(issuers) {
      const before = kept
      const found = issuers.map(issuer => {
        const origin = originOf(issuer)
        return [origin, before.get(origin) ?? createIssuerKeys(issuer, options)] as const
      })
      kept = new Map(found)
      for (const [origin, keys] of before) if (!kept.has(origin)) void keys.close()
      return found.map(([, keys]) => keys)
    },
    async close() {
      await Promise.all([...kept.values()].map(keys => keys.close()))
    },
  }
}

/** Equal for configs with the same keys. It leaves out what an issuer's tokens must contain. */
function originOf({ name, issuer, jwks, keysFrom, ca }: JwtIssuerConfig): string {
  return canonicalJson({ name, issuer, jwks, keysFrom, ca })
}
