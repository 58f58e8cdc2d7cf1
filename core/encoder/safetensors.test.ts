/** Reading tensors of a safetensors file, and refusing invalid files. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { safetensorsFile as file } from '../../test/encoder/safetensors-file.ts'
import { readInt8Safetensors, readSafetensors } from './safetensors.ts'

const tensor = (start: number, end: number, shape: number[], dtype = 'F32') => ({
  dtype,
  shape,
  data_offsets: [start, end],
})
const values = Buffer.from(new Float32Array([1, 2.5, -3, 4]).buffer)

test('tensors are read by name and shape, at any alignment', () => {
  for (const name of ['a', 'ab', 'abc', 'abcd']) {
    const read = readSafetensors(file({ [name]: tensor(4, 16, [3]), __metadata__: {} }, values))
    assert.deepEqual([...read(name, [3])], [2.5, -3, 4])
  }
})

test('an int8 tensor is read as int8 only', () => {
  const bytes = file({ a: tensor(1, 4, [3], 'I8') }, Buffer.from(new Int8Array([1, -2, 127, -127]).buffer))
  assert.deepEqual([...readInt8Safetensors(bytes)('a', [3])], [-2, 127, -127])
  assert.throws(() => readSafetensors(bytes)('a', [3]), { code: 'io', message: /no tensor a of 3 float32/ })
  assert.throws(() => readInt8Safetensors(bytes)('b', [3]), { code: 'io', message: /no tensor b of 3 int8/ })
})

test('the error for a missing, truncated or unexpected tensor contains its name', () => {
  const header = { half: tensor(0, 8, [4], 'F16'), wide: tensor(0, 16, [2, 2]), long: tensor(4, 20, [4]) }
  const read = readSafetensors(file(header, values))
  assert.throws(() => read('none', [4]), { code: 'io', message: /no tensor none of 4 float32/ })
  assert.throws(() => read('half', [4]), { code: 'io', message: /half/ })
  assert.throws(() => read('wide', [4]), { code: 'io', message: /wide/ })
  assert.throws(() => read('long', [4]), { code: 'io', message: /long of the model is cut off/ })
})

test('bytes that are not a safetensors file are refused', () => {
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.alloc(8, 0xff),
    Buffer.from('PK\x03\x04 a zip file'),
    file('{', values),
    file('[]', values),
    file({}, values).subarray(0, 9),
  ])
    assert.throws(() => readSafetensors(bytes), { code: 'io' })
})
