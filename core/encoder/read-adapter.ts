/** Reads the adapter, a file beside this one in a clone and beside the bundle elsewhere. */
import { createHash } from 'node:crypto'
import { Fault } from '../errors.ts'
import { readInstalled } from '../installed-file.ts'
import { ADAPTER_SHA256 } from './model-name.mjs'

/** Throws Fault `io` if the file is missing or has another digest than this version's. */
export function readAdapter(): Uint8Array {
  const file = new URL('./adapter.safetensors', import.meta.url)
  const bytes = readInstalled(file)
  if (createHash('sha256').update(bytes).digest('hex') === ADAPTER_SHA256) return bytes
  throw new Fault('io', `The file ${file.pathname} of this installation is damaged: install Portolan again.`)
}
