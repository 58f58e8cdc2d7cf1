/** Reads float32 tensors of a safetensors file: a length, a JSON header, raw values. Pure. */
import { Fault } from '../errors.ts'
import { isObject, type JsonObject } from '../json.ts'

/** Bytes of the header's length, a 64-bit integer, little endian. */
const LENGTH_BYTES = 8
const MAX_HEADER_BYTES = 1024 * 1024

/** A tensor by name and expected shape. Throws Fault `io` where there is no such tensor of float32. */
export type TensorReader = (name: string, shape: readonly number[]) => Float32Array

/** Throws Fault `io` where the bytes are no safetensors file. See https://huggingface.co/docs/safetensors, "Format". */
export function readSafetensors(bytes: Uint8Array): TensorReader {
  const { header, data } = split(bytes)
  return (name, shape) => {
    const tensor = header[name]
    if (!isObject(tensor) || tensor.dtype !== 'F32' || String(tensor.shape) !== String(shape))
      throw new Fault(
        'io',
        `The model has no tensor ${name} of ${shape.join(' × ')} float32: it is another one`,
      )
    const [start, end] = Array.isArray(tensor.data_offsets) ? tensor.data_offsets : []
    const size = shape.reduce((product, side) => product * side, 4)
    if (typeof start !== 'number' || !(start >= 0) || end !== start + size || end > data.length)
      throw new Fault('io', `The tensor ${name} of the model is cut off`)
    // a copy, as the values need not begin where a Float32Array may; slice() of a Buffer would be none
    return new Float32Array(new Uint8Array(data.subarray(start, end)).buffer)
  }
}

function split(bytes: Uint8Array): { header: JsonObject; data: Uint8Array } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const length = bytes.length < LENGTH_BYTES ? Number.NaN : Number(view.getBigUint64(0, true))
  const end = LENGTH_BYTES + length
  if (!(length <= MAX_HEADER_BYTES && end <= bytes.length))
    throw new Fault('io', 'The weights are no safetensors file')
  return { header: parse(bytes.subarray(LENGTH_BYTES, end)), data: bytes.subarray(end) }
}

function parse(text: Uint8Array): JsonObject {
  try {
    const header: unknown = JSON.parse(new TextDecoder().decode(text))
    if (isObject(header)) return header
  } catch (cause) {
    throw new Fault('io', 'The header of the weights is not readable', { cause })
  }
  throw new Fault('io', 'The header of the weights is no object')
}
