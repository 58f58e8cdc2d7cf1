/** The TLS certificate of a bridge: reads it from files, and replaces it when they change. */
import { readFileSync } from 'node:fs'
import type { Server } from 'node:https'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import type { Clock, Timer } from '../core/async.ts'
import { Fault, messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'

/** Both in PEM. */
export type Certificate = { cert: string; key: string }

/**
 * How often the files are read. A new certificate is used when it is read for the second time, 10 to 20 seconds after it was written: by
 * then, callers have read its CA from the API server, and trust it.
 */
export const REREAD_CERTIFICATE_MS = 10_000
/** The oldest version of TLS that a bridge accepts. Each new certificate needs it again: `setSecureContext` keeps no former option. */
export const MIN_TLS_VERSION = 'TLSv1.3'

/** Reads `tls.crt` and `tls.key` of a folder. Throws Fault `io` if they are missing or do not belong together. */
export function readCertificate(folder: string): Certificate {
  try {
    const read = (name: string) => readFileSync(join(folder, name), 'utf8')
    const certificate = { cert: read('tls.crt'), key: read('tls.key') }
    createSecureContext(certificate)
    return certificate
  } catch (cause) {
    throw new Fault('io', `The certificate in ${folder} cannot be used: ${messageOf(cause)}`, { cause })
  }
}

/** Checks the files until the server closes, and replaces the certificate for new connections. `current`: the server's certificate now. */
export function followCertificate(
  server: Server,
  folder: string,
  current: Certificate,
  { clock, log }: { clock: Clock; log: Log },
): void {
  let timer: Timer | undefined
  let used = current
  let seen = current
  const check = (): void => {
    timer = clock.after(REREAD_CERTIFICATE_MS, check)
    try {
      const found = readCertificate(folder)
      if (isSame(found, seen) && !isSame(found, used)) {
        server.setSecureContext({ ...found, minVersion: MIN_TLS_VERSION })
        used = found
        log.info('certificate replaced')
      }
      seen = found
    } catch (error) {
      log.warn(
        { error: messageOf(error) },
        'the certificate could not be read again; the previous one stays in use',
      )
    }
  }
  timer = clock.after(REREAD_CERTIFICATE_MS, check)
  server.on('close', () => timer?.cancel())
}

function isSame(one: Certificate, other: Certificate): boolean {
  return one.cert === other.cert && one.key === other.key
}
