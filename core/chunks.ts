/** Collects a body that arrives in chunks, whatever their sizes. */

/** Smaller chunks are copied into blocks: as Buffers of their own, chunks of one byte would take 200 times their size. */
const SMALL_BYTES = 1024
const BLOCK_BYTES = 4 * 1024

/** A class, because every call reads two bodies. */
export class Chunks {
  /** The first chunk while it is the only one, as nearly always: it is not copied. */
  #only: Uint8Array | undefined
  #parts: Uint8Array[] | undefined
  #block: Buffer | undefined
  /** Bytes in the block that are not in a part yet. */
  #filled = 0

  add(chunk: Uint8Array): void {
    if (!this.#only && !this.#parts) {
      this.#only = chunk
      return
    }
    this.#parts ??= []
    if (this.#only) this.#append(this.#only, this.#parts)
    this.#only = undefined
    this.#append(chunk, this.#parts)
  }

  /** Forgets everything. */
  clear(): void {
    this.#only = undefined
    this.#parts = undefined
    this.#block = undefined
    this.#filled = 0
  }

  bytes(): Buffer {
    if (this.#only) return asBuffer(this.#only)
    const parts = this.#parts ?? []
    this.#flush(parts)
    return Buffer.concat(parts)
  }

  text(): string {
    return this.bytes().toString()
  }

  #append(chunk: Uint8Array, parts: Uint8Array[]): void {
    const isSmall = chunk.length < SMALL_BYTES
    if (!isSmall || this.#filled + chunk.length > BLOCK_BYTES) this.#flush(parts)
    if (!isSmall) {
      parts.push(chunk)
      return
    }
    this.#block ??= Buffer.allocUnsafeSlow(BLOCK_BYTES)
    this.#block.set(chunk, this.#filled)
    this.#filled += chunk.length
  }

  #flush(parts: Uint8Array[]): void {
    if (this.#block && this.#filled > 0) parts.push(Buffer.from(this.#block.subarray(0, this.#filled)))
    this.#filled = 0
  }
}

function asBuffer(chunk: Uint8Array): Buffer {
  return Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
}
