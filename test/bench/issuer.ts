/** An issuer of JSON Web Tokens for benchmarks: its key set, and a function that signs tokens. */
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

export const ISSUER = 'https://id.bench.example'
export const GATEWAY_URL = 'https://mcp.bench.example'
export const AUDIENCE = `${GATEWAY_URL}/mcp`

export type Issuer = {
  jwks: { keys: JWK[] }
  sign(subject: string, groups: readonly string[]): Promise<string>
}

/** ES256 is thirty times as fast at signing. RS256 is twice as fast at verifying, and most issuers use it. */
export async function createIssuer(algorithm: 'RS256' | 'ES256'): Promise<Issuer> {
  const { publicKey, privateKey } = await generateKeyPair(algorithm)
  const key = { ...(await exportJWK(publicKey)), kid: 'bench', alg: algorithm }
  return {
    jwks: { keys: [key] },
    sign: (subject, groups) =>
      new SignJWT({ groups })
        .setProtectedHeader({ alg: algorithm, kid: 'bench' })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(subject)
        .setIssuedAt()
        .setExpirationTime('1h')
        .sign(privateKey),
  }
}
