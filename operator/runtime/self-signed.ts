/** Creates self-signed certificates (RFC 5280) for bridges with TLS. */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

/** Certificate and private key, in PEM. */
export type SelfSigned = { cert: string; key: string }

export const LIFETIME_MS = 90 * 24 * 60 * 60_000
/** Tolerance for differing clocks of nodes. */
const SKEW_MS = 5 * 60_000
const SERIAL_BYTES = 16
const COMMON_NAME = '2.5.4.3'
const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2'
/** Version 3: versions are counted from 0. */
const V3 = 2

/** A new key, and a certificate of it for one host, which clients trust directly. `now`: milliseconds since the epoch. */
export async function createSelfSigned(host: string, now: number): Promise<SelfSigned> {
  // Loaded on first use, since most installations have no server with TLS.
  const { AsnConvert, OctetString } = await import('@peculiar/asn1-schema')
  const x509 = await import('@peculiar/asn1-x509')
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const extension = (extnID: string, critical: boolean, value: object) =>
    new x509.Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) })
  // A common name is limited to 64 characters, and a host name may be longer.
  const value = new x509.AttributeValue({ utf8String: 'portolan' })
  const name = new x509.Name([
    new x509.RelativeDistinguishedName([new x509.AttributeTypeAndValue({ type: COMMON_NAME, value })]),
  ])
  const signatureAlgorithm = new x509.AlgorithmIdentifier({ algorithm: ECDSA_WITH_SHA256 })
  const hosts = new x509.SubjectAlternativeName([new x509.GeneralName({ dNSName: host })])
  const tbsCertificate = new x509.TBSCertificate({
    version: V3,
    serialNumber: serialNumber(),
    signature: signatureAlgorithm,
    issuer: name,
    subject: name,
    validity: new x509.Validity({
      notBefore: new Date(now - SKEW_MS),
      notAfter: new Date(now + LIFETIME_MS),
    }),
    subjectPublicKeyInfo: AsnConvert.parse(
      publicKey.export({ type: 'spki', format: 'der' }),
      x509.SubjectPublicKeyInfo,
    ),
    extensions: new x509.Extensions([
      extension(x509.id_ce_basicConstraints, true, new x509.BasicConstraints({ cA: false })),
      extension(x509.id_ce_subjectAltName, false, hosts),
      extension(x509.id_ce_extKeyUsage, false, new x509.ExtendedKeyUsage([x509.id_kp_serverAuth])),
    ]),
  })
  const signatureValue = sign('sha256', Buffer.from(AsnConvert.serialize(tbsCertificate)), privateKey)
  const certificate = new x509.Certificate({
    tbsCertificate,
    signatureAlgorithm,
    signatureValue: new Uint8Array(signatureValue).buffer,
  })
  return {
    cert: pem(Buffer.from(AsnConvert.serialize(certificate))),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

/** Positive and without a leading zero byte, as DER requires. */
function serialNumber(): ArrayBuffer {
  const bytes = new Uint8Array(randomBytes(SERIAL_BYTES))
  bytes[0] = 0x40 | ((bytes[0] ?? 0) & 0x3f)
  return bytes.buffer
}

function pem(bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}
