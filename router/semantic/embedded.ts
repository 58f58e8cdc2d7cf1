/** Opens the embedded encoder, as the search by meaning wants it. */
import { access } from 'node:fs/promises'
import { createEmbeddedEncoder, type EmbeddedOptions } from '../../core/encoder/embedded.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'
import { Fault } from '../../core/errors.ts'

/** Throws Fault `io` with the reason where there is none. */
export async function openEmbedded(options: Omit<EmbeddedOptions, 'unavailable'>): Promise<SentenceEncoder> {
  // Asked every few seconds where it is not there: that shall not cost a thread.
  await access(options.modelFile).catch(cause => {
    throw new Fault('io', 'The model of the sentence encoder is not there: run `portolan model`', { cause })
  })
  let reason = 'the encoder is not there'
  const unavailable = (why: string) => {
    reason = why
  }
  const encoder = await createEmbeddedEncoder({ ...options, unavailable })
  if (!encoder) throw new Fault('io', reason)
  return encoder
}
