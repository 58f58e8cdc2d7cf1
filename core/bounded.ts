/** Reads a whole body of untrusted size, up to a limit. */
import { Chunks } from './chunks.ts'

/** Returns the whole body. Rejects with the error of `tooLarge`, and stops reading, as soon as the body exceeds `maxBytes`. */
export async function readBounded(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
  tooLarge: () => Error,
): Promise<Buffer> {
  const chunks = new Chunks()
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > maxBytes) throw tooLarge()
    chunks.add(chunk)
  }
  return chunks.bytes()
}
