/** Reads float32 tensors from a safetensors file, which consists of a length, a JSON header and raw values. Pure. */
import { Fault } from '../errors.ts'
import { isObject, type JsonObject } from '../json.ts'

/** Size of the header's length field, a 64-bit integer, little endian. */
const LENGTH_BYTES = 8
const MAX_HEADER_BYTES = 1024 * 1024

/** Returns a tensor by its name and expected shape. Throws Fault `io` if there is no such float32 tensor. */
export type TensorReader = (name: string, shape: readonly number[]) => Float32Array

/** Throws Fault `io` if the bytes are not a safetensors file. See https://huggingface.co/docs/safetensors, "Format". */
export function readSafetensors(bytes: Uint8Array): TensorReader {
  const { header, data } = split(bytes)
  return (name, shape) => {
    const tensor = header[name]
    if (!isObject(tensor) || tensor.dtype !== 'F32' || String(tensor.shape) !== String(shape))
      throw new Fault(
        'io',
        `The model has no tensor ${name} of ${shape.join(' × ')} float32: it is another model`,
      )
    const [start, end] = Array.isArray(tensor.data_offsets) ? tensor.data_offsets : []
    const size = shape.reduce((product, side) => product * side, 4)
    if (typeof start !== 'number' || !(start >= 0) || end !== start + size || end > data.length)
      throw new Fault('io', `The tensor ${name} of the model is cut off`)
    // A Float32Array must be aligned, so the values are copied. (`slice` of a Buffer would not copy.)
    return new Float32Array(new Uint8Array(data.subarray(start, end)).buffer)
  }
}

function split(bytes: Uint8Array): { header: JsonObject; data: Uint8Array } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const length = bytes.length < LENGTH_BYTES ? Number.NaN : Number(view.getBigUint64(0, true))
  const end = LENGTH_BYTES + length
  if (!(length <= MAX_HEADER_BYTES && end <= bytes.length))
    throw new Fault('io', 'The weights are not a safetensors file')
  return { header: parse(bytes.subarray(LENGTH_BYTES, end)), data: bytes.subarray(end) }
}

function parse(text: Uint8Array): JsonObject {
  try {
    const header: unknown = JSON.parse(new TextDecoder().decode(text))
    if (isObject(header)) return header
  } catch (cause) {
    throw new Fault('io', 'The header of the weights is not readable', { cause })
  }
  throw new Fault('io', 'The header of the weights is not an object')
}
