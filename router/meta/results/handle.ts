/** Handles of stored results: `portolan|result/<owner>/<id>?from=<byte>`. The id proves that one of our replicas made it. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { exposedUri, resourcePath } from '../../../core/catalog/names.ts'
import { deriveKey } from '../../../core/derived-key.ts'

export type Handle = {
  /** The process that stores the result. */
  owner: string
  id: string
  /** Start of the next part, in bytes. */
  from: number
}

export type HandleSigner = {
  /** Creates an id that cannot be guessed, for the caller with this identity. */
  issue(owner: string, identityId: string): string
  /** Whether the handle was made for this caller by a process with the same key: otherwise its owner must not be called. */
  isOurs(handle: Handle, identityId: string): boolean
}

/** Stands in place of a server's name: no server can have it. */
const RESERVED_NAME = 'portolan'
const HANDLE = /^portolan[|+]result\/([^/?]{1,64})\/([\w-]{24})(?:\?from=(\d{1,12}))?$/
const LIKE_A_HANDLE = /^portolan[|+]result\//
const NONCE_BYTES = 6
const PROOF_BYTES = 12

/** The form in meta-tools' answers. */
export function shownHandle(handle: Handle): string {
  return resourcePath(RESERVED_NAME, pathOf(handle))
}

/** The form for the protocol's resources/read: a valid URI. */
export function listedHandle(handle: Handle): string {
  return exposedUri(RESERVED_NAME, pathOf(handle))
}

/** Whether a text is meant as a handle, even if it is malformed. */
export function isHandle(text: string): boolean {
  return LIKE_A_HANDLE.test(text)
}

/** Parses either form; undefined if it is malformed. Does not verify the id. */
export function parseHandle(text: string): Handle | undefined {
  const [, owner, id, from = '0'] = HANDLE.exec(text) ?? []
  return owner === undefined || id === undefined ? undefined : { owner, id, from: Number(from) }
}

/** `key`: the same at all replicas. An id is a random nonce, and the first bytes of an HMAC of it, the owner and the caller. */
export function createHandleSigner(key: string | Uint8Array): HandleSigner {
  const derived = deriveKey(key, 'handle of a result')
  const proofOf = (owner: string, nonce: Buffer, identityId: string): Buffer =>
    createHmac('sha256', derived)
      .update(`${owner} ${nonce.toString('hex')} ${identityId}`)
      .digest()
      .subarray(0, PROOF_BYTES)
  return {
    issue(owner, identityId) {
      const nonce = randomBytes(NONCE_BYTES)
      return Buffer.concat([nonce, proofOf(owner, nonce, identityId)]).toString('base64url')
    },
    isOurs({ owner, id }, identityId) {
      const bytes = Buffer.from(id, 'base64url')
      const right = proofOf(owner, bytes.subarray(0, NONCE_BYTES), identityId)
      return timingSafeEqual(bytes.subarray(NONCE_BYTES), right)
    },
  }
}

function pathOf({ owner, id, from }: Handle): string {
  return `result/${owner}/${id}${from > 0 ? `?from=${from}` : ''}`
}
