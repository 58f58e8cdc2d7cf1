/** Writes a zip file of small, uncompressed files (APPNOTE.TXT 4.3), which is enough for wheels in tests. */
import { crc32 } from 'node:zlib'

const LOCAL = 0x04034b50
const CENTRAL = 0x02014b50
const END = 0x06054b50
const VERSION = 20

export function zipOf(files: Readonly<Record<string, string | Uint8Array>>): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [name, content] of Object.entries(files)) {
    const bytes = Buffer.from(content)
    const common = words(
      [VERSION, 0, 0, 0, 0x21],
      [crc32(bytes), bytes.length, bytes.length],
      [name.length, 0],
    )
    const local = Buffer.concat([words([], [LOCAL]), common, Buffer.from(name), bytes])
    const rest = words([0, 0, 0], [0, offset])
    directory.push(Buffer.concat([words([], [CENTRAL]), words([VERSION]), common, rest, Buffer.from(name)]))
    parts.push(local)
    offset += local.length
  }
  const central = Buffer.concat(directory)
  const count = directory.length
  const end = [words([], [END]), words([0, 0, count, count], [central.length, offset], [0])]
  return Buffer.concat([...parts, central, ...end])
}

/** Little-endian numbers: `short` and `last` with two bytes each, `long` with four. */
function words(short: number[] = [], long: number[] = [], last: number[] = []): Buffer {
  const bytes = Buffer.alloc(2 * short.length + 4 * long.length + 2 * last.length)
  let at = 0
  for (const value of short) at = bytes.writeUInt16LE(value, at)
  for (const value of long) at = bytes.writeUInt32LE(value, at)
  for (const value of last) at = bytes.writeUInt16LE(value, at)
  return bytes
}
