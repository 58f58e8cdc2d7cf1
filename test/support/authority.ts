/** A key and a self-signed certificate of a host, made with openssl; clients trust it as they trust a company's own authority. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Authority = { key: string; certificate: string }

export function makeAuthority(host: string): Authority {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-ca-'))
  try {
    const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'ca.pem')]
    const names = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`]
    const made = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-keyout', key, '-out', certificate]
    execFileSync('openssl', ['req', ...made, ...names], { stdio: 'pipe' })
    return { key: readFileSync(key, 'utf8'), certificate: readFileSync(certificate, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
