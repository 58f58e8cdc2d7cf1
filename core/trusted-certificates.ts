/** Certificate authorities that this process trusts besides the usual ones: those of a company's own servers and login pages. */
import { X509Certificate } from 'node:crypto'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** What to say, after the name of a field or file, if `areCertificates` is false. */
export const NO_CERTIFICATES = 'must be certificates of authorities in PEM'

/** Whether a text contains certificates in PEM, all of them of authorities; comments between them are allowed. */
export function areCertificates(text: string): boolean {
  const found = text.match(CERTIFICATE) ?? []
  return found.length > 0 && found.every(isOfAuthority)
}

/** Trusts these authorities too, for all new TLS connections that name no authorities themselves. */
export function trustCertificates(text: string): void {
  setDefaultCACertificates([...getCACertificates('default'), ...(text.match(CERTIFICATE) ?? [])])
}

function isOfAuthority(pem: string): boolean {
  try {
    return new X509Certificate(pem).ca
  } catch {
    return false
  }
}
