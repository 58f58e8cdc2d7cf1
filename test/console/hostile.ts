/** A catalog that tries everything: markup, scripts, hidden characters, huge texts, many tools, schemas without an end. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '../../core/json.ts'
import { scriptCommand } from '../support/manifests.ts'

export const MARKUP = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`
const MEGABYTE = 'lorem ipsum '.repeat(90_000)

/** Recurses, and has names that are properties of every object. */
const ENDLESS: JsonObject = {
  type: 'object',
  required: ['node', '__proto__'],
  properties: {
    node: { $ref: '#/$defs/node' },
    constructor: { type: 'string', description: MARKUP },
    choice: { enum: Array.from({ length: 5_000 }, (_none, at) => `value ${at} ${MARKUP}`) },
  },
  $defs: {
    node: { type: 'object', properties: { next: { $ref: '#/$defs/node' }, [MARKUP]: { type: 'string' } } },
  },
}

const HOSTILE = [
  {
    name: 'markup',
    title: MARKUP,
    description: `${MARKUP} [link](javascript:alert(1)) javascript:alert(1)`,
    inputSchema: ENDLESS,
  },
  {
    name: 'bidi',
    description: 'safe \u202E\u2066evil\u2069 \u200B\u{E0041}\u{E0042} text',
    inputSchema: { type: 'object' },
  },
  {
    name: 'huge',
    description: MEGABYTE,
    inputSchema: { type: 'object', properties: { a: { type: 'string', description: MEGABYTE } } },
  },
  { name: 'half_\uD800', description: 'half \uDC00 of a character', inputSchema: { type: 'object' } },
  { name: `long_${'x'.repeat(120)}`, description: 'x'.repeat(5_000), inputSchema: { type: 'object' } },
]

/** A server with these tools and `more` others; to be removed by the caller. */
export function hostileServer(more: number): { spec: object; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-hostile-'))
  const file = join(folder, 'hostile.json')
  const others = Array.from({ length: more }, (_none, at) => ({
    name: `tool_${at}`,
    description: `Does thing number ${at} of many`,
    inputSchema: { type: 'object', properties: { [`p${at}`]: { type: 'string' } } },
  }))
  const catalog = {
    protocolVersion: '2025-11-25',
    serverInfo: { name: MARKUP, title: MARKUP, version: '1' },
    instructions: MARKUP,
    capabilities: { tools: {}, resources: {} },
    tools: [...HOSTILE, ...others],
    resources: [{ uri: 'file:///half_\uD800', name: 'half \uD800' }],
  }
  writeFileSync(file, JSON.stringify(catalog))
  return {
    spec: {
      ...scriptCommand('test/upstreams/replay/stdio.ts', file),
      title: MARKUP.slice(0, 60),
      description: MARKUP,
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
