/** Keys for single purposes, derived from a shared key: what is signed for one purpose is never valid for another. */
import { hkdfSync } from 'node:crypto'

const KEY_BYTES = 32

export function deriveKey(key: string | Uint8Array, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `portolan ${purpose}`, KEY_BYTES))
}
