/** The certificate of a bridge with TLS: whether it can be used, when it is renewed, and which certificates callers trust. Pure. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { messageOf, type Problem } from '../../core/errors.ts'
import { REASON } from '../../crds/conditions.ts'

/** The content of a Secret of the type kubernetes.io/tls. Without `ca.crt`, the certificate itself is trusted. */
export type CertificateData = Readonly<Record<string, string>>

/** What the plan of a server needs to know. */
export type ServerCertificate = {
  /** The certificates that callers trust, in PEM. Includes the former ones for a while: the kubelet updates the bridge's certificate later. */
  authority: string
  problem?: Problem
}

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
/** How many certificates callers trust, current and former ones together; an authority with its intermediates has only a few. */
const MAX_CERTIFICATES = 16
/** A certificate is renewed after this share of its lifetime. */
const RENEWED_AFTER = 2 / 3

/** What callers have to trust to accept this certificate: its authority, or the certificate itself. */
export function authorityOf(data: CertificateData): string {
  return data['ca.crt'] ?? data['tls.crt'] ?? ''
}

/** Why callers of `host` would not accept the certificate; undefined if they would. `name`: that of the Secret. `now`: in milliseconds. */
export function certificateProblem(
  data: CertificateData,
  name: string,
  host: string,
  now: number,
): Problem | undefined {
  const why = flawOf(data, host, now)
  const message = `the certificate in the Secret "${name}" cannot be used: ${why}; correct it, or delete the Secret, and Portolan makes one`
  return why === undefined ? undefined : { reason: REASON.certificateInvalid, path: 'spec.tls', message }
}

function flawOf(data: CertificateData, host: string, now: number): string | undefined {
  const { 'tls.crt': cert, 'tls.key': key } = data
  if (!cert || !key) return `it has no key "${cert ? 'tls.key' : 'tls.crt'}"`
  try {
    const certificate = new X509Certificate(cert)
    if (!certificate.checkPrivateKey(createPrivateKey(key))) return 'tls.key belongs to another certificate'
    if (certificate.checkHost(host) === undefined) return `it is not for ${host}`
    if (certificate.validToDate.getTime() <= now)
      return `it expired at ${certificate.validToDate.toISOString()}`
    return certificatesIn(authorityOf(data)).length > 0 ? undefined : 'ca.crt holds no certificate'
  } catch (error) {
    return `it cannot be read (${messageOf(error)})`
  }
}

/** When a certificate that can be used is renewed, in milliseconds since the epoch. */
export function renewalOf(data: CertificateData): number {
  const { validFromDate, validToDate } = new X509Certificate(data['tls.crt'] ?? '')
  const from = validFromDate.getTime()
  return from + (validToDate.getTime() - from) * RENEWED_AFTER
}

/** The certificates of `authority` first, then those that callers trusted before. */
export function withFormer(authority: string, trusted: string | undefined): string {
  const all = [...new Set([...certificatesIn(authority), ...certificatesIn(trusted ?? '')])]
  return all
    .slice(0, MAX_CERTIFICATES)
    .map(block => `${block}\n`)
    .join('')
}

function certificatesIn(text: string): string[] {
  return text.match(BLOCK) ?? []
}
