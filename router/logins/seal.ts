/** Encrypts ("seals") texts that leave the process in a browser's cookie or a Secret, so that nobody else can read or change them. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

export type Seal = {
  /** `about`: what the text belongs to. It can be opened only with the same value. */
  close(text: string, about: string): string
  /** Undefined if it was sealed with another key or another `about`, or was changed. */
  open(sealed: string, about: string): string | undefined
}

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** `key`: at least 16 random bytes. Uses AES-256-GCM with a key derived from it; a sealed text is nonce, tag and ciphertext in base64url. */
export function createSeal(key: Uint8Array): Seal {
  const secret = Buffer.from(hkdfSync('sha256', key, '', 'portolan logins', KEY_BYTES))
  return {
    close(text, about) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, secret, nonce).setAAD(Buffer.from(about))
      const body = [cipher.update(text, 'utf8'), cipher.final()]
      return Buffer.concat([nonce, cipher.getAuthTag(), ...body]).toString('base64url')
    },
    open(sealed, about) {
      const bytes = Buffer.from(sealed, 'base64url')
      // The last character of base64url may have unused bits. Only the canonical form is accepted.
      if (bytes.length < NONCE_BYTES + TAG_BYTES || bytes.toString('base64url') !== sealed) return undefined
      const nonce = bytes.subarray(0, NONCE_BYTES)
      const options = { authTagLength: TAG_BYTES }
      const decipher = createDecipheriv(CIPHER, secret, nonce, options).setAAD(Buffer.from(about))
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
      try {
        const text = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
        return Buffer.concat([text, decipher.final()]).toString('utf8')
      } catch {
        return undefined
      }
    },
  }
}
