/** Certificate authorities that this process trusts besides the usual ones: those of a company's own servers and login pages. */
import { X509Certificate } from 'node:crypto'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

export const NO_CERTIFICATES = 'must be certificates of authorities in PEM'

/** Whether a text consists of certificates in PEM; comments between them are allowed. */
export function areCertificates(text: string): boolean {
  const found = text.match(CERTIFICATE) ?? []
  return found.length > 0 && found.every(isCertificate)
}

/** For every TLS connection from now on that names no authorities itself. */
export function trustCertificates(text: string): void {
  setDefaultCACertificates([...getCACertificates('default'), ...(text.match(CERTIFICATE) ?? [])])
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).ca
  } catch {
    return false
  }
}
