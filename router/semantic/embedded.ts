/** Opens the embedded encoder for search by meaning. */
import { access } from 'node:fs/promises'
import { createEmbeddedEncoder, type EmbeddedOptions } from '../../core/encoder/embedded.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'
import { Fault } from '../../core/errors.ts'

/** Throws Fault `io` with the reason if the encoder is not available. */
export async function openEmbedded(options: Omit<EmbeddedOptions, 'unavailable'>): Promise<SentenceEncoder> {
  // Checked first: retries every few seconds must not start a thread each.
  await access(options.modelFile).catch(cause => {
    throw new Fault('io', 'The model of the sentence encoder is not there: run `portolan model`', { cause })
  })
  let reason = 'the encoder is not available'
  const unavailable = (why: string) => {
    reason = why
  }
  const encoder = await createEmbeddedEncoder({ ...options, unavailable })
  if (!encoder) throw new Fault('io', reason)
  return encoder
}
