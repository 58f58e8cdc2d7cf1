/** Builds safetensors files for tests. */

type Values = Float32Array | Int8Array

/** A file with this header, which may be wrong on purpose. */
export function safetensorsFile(header: object | string, data: Uint8Array): Buffer {
  const text = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(text.length))
  return Buffer.concat([length, text, data])
}

export function safetensorsOf(
  tensors: Readonly<Record<string, { shape: number[]; values: Values }>>,
): Buffer {
  const header: Record<string, object> = {}
  const parts: Buffer[] = []
  let at = 0
  for (const [name, { shape, values }] of Object.entries(tensors)) {
    const dtype = values instanceof Int8Array ? 'I8' : 'F32'
    header[name] = { dtype, shape, data_offsets: [at, at + values.byteLength] }
    at += values.byteLength
    parts.push(Buffer.from(values.buffer, values.byteOffset, values.byteLength))
  }
  return safetensorsFile(header, Buffer.concat(parts))
}
