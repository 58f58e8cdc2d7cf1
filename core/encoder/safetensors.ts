/** Reads float32 and int8 tensors from a safetensors file, which consists of a length, a JSON header and raw values. Pure. */
import { Fault } from '../errors.ts'
import { isObject, type JsonObject } from '../json.ts'

/** Size of the header's length field, a 64-bit integer, little endian. */
const LENGTH_BYTES = 8
const MAX_HEADER_BYTES = 1024 * 1024

/** Returns a tensor by its name and expected shape. Throws Fault `io` if there is no such tensor of the reader's type. */
export type TensorReader<Values = Float32Array> = (name: string, shape: readonly number[]) => Values

type TensorType<Values> = {
  /** As in the header of the file, and in messages. */
  dtype: string
  title: string
  bytes: number
  from: (bytes: ArrayBuffer) => Values
}
const FLOAT32: TensorType<Float32Array> = {
  dtype: 'F32',
  title: 'float32',
  bytes: 4,
  from: bytes => new Float32Array(bytes),
}
const INT8: TensorType<Int8Array> = {
  dtype: 'I8',
  title: 'int8',
  bytes: 1,
  from: bytes => new Int8Array(bytes),
}

/** Reads float32 tensors. Throws Fault `io` if the bytes are not a safetensors file. See https://huggingface.co/docs/safetensors, "Format". */
export function readSafetensors(bytes: Uint8Array): TensorReader {
  return readerOf(bytes, FLOAT32)
}

/** Like readSafetensors, for int8 tensors. */
export function readInt8Safetensors(bytes: Uint8Array): TensorReader<Int8Array> {
  return readerOf(bytes, INT8)
}

function readerOf<Values>(bytes: Uint8Array, type: TensorType<Values>): TensorReader<Values> {
  const { header, data } = split(bytes)
  return (name, shape) => {
    const tensor = header[name]
    if (!isObject(tensor) || tensor.dtype !== type.dtype || String(tensor.shape) !== String(shape))
      throw new Fault(
        'io',
        `The model has no tensor ${name} of ${shape.join(' × ')} ${type.title}: it is another model`,
      )
    const [start, end] = Array.isArray(tensor.data_offsets) ? tensor.data_offsets : []
    const size = shape.reduce((product, side) => product * side, type.bytes)
    if (typeof start !== 'number' || !(start >= 0) || end !== start + size || end > data.length)
      throw new Fault('io', `The tensor ${name} of the model is cut off`)
    // The values are copied, because a Float32Array must be aligned. (`slice` of a Buffer would not copy.)
    return type.from(new Uint8Array(data.subarray(start, end)).buffer)
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
