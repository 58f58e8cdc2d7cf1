/** Declarations of tools in TypeScript: as in the golden files (recorded tools by digest), within their token budget, and valid. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import fc from 'fast-check'
import type { JsonObject, JsonValue } from '../../core/json.ts'
import { estimateTokens } from '../../router/catalog/estimate.ts'
import { declarationOf } from '../../router/code/declaration.ts'
import { merged, type Shape, shapeOf, shownShape } from '../../router/code/shape.ts'
import { defaultCatalogs, RECORDED, readOwn } from '../upstreams/replay/catalogs.ts'

const root = join(import.meta.dirname, '..', '..')
const BUDGET = 220
const run = promisify(execFile)

test('the declarations of our own catalog are those of the golden file', t => {
  const lines = readOwn().flatMap(({ name, tools }) =>
    tools.map(({ name: tool, inputSchema }) =>
      declarationOf({ name: `tools.${name}.${tool}`, input: inputSchema }, BUDGET),
    ),
  )
  t.assert.fileSnapshot(lines.join('\n'), join(root, 'test/golden/code/declarations.txt'), {
    serializers: [text => text],
  })
})

test('the declarations of all recorded tools have the digests of the golden file', {
  skip: process.env.CI || existsSync(RECORDED) ? false : `${RECORDED} is missing`,
}, t => {
  // Digests, since the texts of the recorded servers are not ours.
  const lines = defaultCatalogs().map(({ name, tools }) => {
    const declared = tools.map(tool =>
      declarationOf({ name: tool.name, input: tool.inputSchema, output: outputOf(tool) }, BUDGET),
    )
    return `${name} ${tools.length} ${hash('sha256', declared.join('\n')).slice(0, 16)}`
  })
  t.assert.fileSnapshot(lines.join('\n'), join(root, 'test/golden/code/recorded.txt'), {
    serializers: [String],
  })
})

test('every recorded tool has a declaration within the token budget, which TypeScript accepts', async t => {
  const tools = defaultCatalogs().flatMap(({ tools }) => tools)
  const declared = tools.map((tool, at) => {
    const described = { name: `declare function tool${at}`, input: tool.inputSchema, output: outputOf(tool) }
    const text = declarationOf(described, BUDGET)
    assert.ok(estimateTokens(text) <= BUDGET, text)
    return text
  })
  const typed = declared.filter(text => !text.endsWith('Promise<unknown>')).length
  t.diagnostic(`${declared.length} tools, ${typed} with a type of what they return`)
  await assertTypeScript(declared)
})

test('values near the query are left out rather than all types', () => {
  const kind = { enum: Array.from({ length: 30 }, (_, at) => `update-record-kind-0-${at}`) }
  const properties = Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`kind_${at}`, kind]))
  const declared = { name: 'tools.crm.update_record', input: { type: 'object', properties } }
  assert.match(
    declarationOf({ ...declared, asked: new Set(['updat', 'record']) }, BUDGET),
    /kind_5\?: "update-/,
  )
})

test('shapes of values are types that TypeScript accepts', async () => {
  const values = fc.sample(fc.jsonValue({ maxDepth: 5 }), { numRuns: 200, seed: 7 }) as JsonValue[]
  const shapes = values.map(value => shapeOf(value))
  const both = shapes.slice(1).map((shape, at) => merged(shapes[at] as Shape, shape))
  await assertTypeScript(
    [...shapes, ...both].map((shape, at) => `declare const shape${at}: ${shownShape(shape)}`),
  )
})

test('a shape has keys and types, never a value, and no key that may be data', () => {
  const rows = [
    { id: 1, owner: { name: 'Ann' } },
    { id: 2, owner: null, note: 'secret' },
  ]
  assert.equal(shownShape(shapeOf(rows)), '{id: number; owner: unknown; note?: string}[]')
  const many = Object.fromEntries(Array.from({ length: 13 }, (_, at) => [`user${at}`, at]))
  assert.equal(shownShape(shapeOf(many)), 'Record<string, number>')
  assert.equal(shownShape(shapeOf({ 'ann@example.com': 1 })), 'Record<string, number>')
  assert.equal(shownShape(merged(shapeOf({ ann: 1 }), shapeOf({ bob: 2 }))), 'Record<string, number>')
  assert.equal(shownShape(shapeOf({ a: { b: { c: { d: 1 } } } })), '{a: {b: {c: unknown}}}')
})

const forms: readonly (readonly [JsonObject, string])[] = [
  [
    { type: 'object', properties: { a: { type: ['string', 'null'] }, b: { const: 3 } }, required: ['a'] },
    '(args: {a: string | null; b?: 3})',
  ],
  [{ type: 'object', properties: { a: { enum: ['x', 'y'] } } }, '(args?: {a?: "x" | "y"})'],
  [
    {
      type: 'object',
      properties: { a: { anyOf: [{ type: 'integer' }, { type: 'array', items: { type: 'string' } }] } },
    },
    '(args?: {a?: number | string[]})',
  ],
  [
    {
      type: 'object',
      properties: { 'a-b': { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'number' }] } } },
    },
    '(args?: {"a-b"?: (string | number)[]})',
  ],
  [
    { type: 'object', properties: { a: { type: 'object', additionalProperties: { type: 'number' } } } },
    '(args?: {a?: Record<string, number>})',
  ],
  [
    { type: 'object', properties: { a: { prefixItems: [{ type: 'string' }, { type: 'number' }] } } },
    '(args?: {a?: [string, number]})',
  ],
  [
    {
      type: 'object',
      properties: { a: { $ref: '#/$defs/T' } },
      $defs: { T: { type: 'object', properties: { next: { $ref: '#/$defs/T' } } } },
    },
    '(args?: {a?: {next?: unknown}})',
  ],
  [{ type: 'object', properties: {} }, '()'],
  [{ type: 'object', additionalProperties: false }, '()'],
  [{ type: 'object', additionalProperties: true }, '(args?: Record<string, unknown>)'],
  [{ type: 'object', additionalProperties: {} }, '(args?: Record<string, unknown>)'],
  [
    {
      type: 'object',
      properties: {
        a: { type: 'array', items: { type: ['object', 'null'], properties: { b: { type: 'string' } } } },
        c: { type: 'array', items: { enum: ['{', 'x | y'] } },
        d: { type: 'array', items: { enum: ['x | y'] } },
        e: { type: 'array', items: { type: 'object', properties: { b: { enum: ['}', 1] } } } },
      },
    },
    '(args?: {a?: ({b?: string} | null)[]; c?: ("{" | "x | y")[]; d?: "x | y"[]; e?: {b?: "}" | 1}[]})',
  ],
  [
    {
      type: 'object',
      properties: {
        'a\u{202e}"b': { const: 'c\u{200b}d' },
        e: { enum: ['f\u{e0041}\u{e0042}"', '\u{200b}'.repeat(61)] },
      },
    },
    '(args?: {"a⟨U+202E right-to-left override⟩\\"b"?: "c⟨U+200B zero width space⟩d"; e?: "f⟨tags that say \\"AB\\"⟩\\"" | string})',
  ],
  [
    { type: 'object', properties: { a: { type: 'string', description: 'ends */ here' } } },
    '(args?: {/** ends * / here */ a?: string})',
  ],
]

test('each kind of schema is declared as the matching type', () => {
  for (const [input, expected] of forms)
    assert.equal(declarationOf({ name: '', input }, BUDGET), `${expected}: Promise<unknown>`)
})

test('a schema whose references multiply is declared within a second', () => {
  const defs = Object.fromEntries(
    Array.from({ length: 40 }, (_, at) => [
      `d${at}`,
      { allOf: Array.from({ length: 8 }, () => ({ $ref: `#/$defs/d${at + 1}` })) },
    ]),
  )
  const startedMs = performance.now()
  declarationOf(
    { name: 'x', input: { type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs: defs } },
    BUDGET,
  )
  assert.ok(performance.now() - startedMs < 1_000)
})

function outputOf({ outputSchema }: JsonObject): JsonValue | undefined {
  return outputSchema
}

/** Type-checks the lines with the TypeScript of the project. */
async function assertTypeScript(lines: readonly string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'portolan-declarations-'))
  try {
    const file = join(folder, 'declarations.ts')
    await writeFile(file, `${lines.join('\n')}\nexport {}\n`)
    const options = ['--ignoreConfig', '--noEmit', '--strict', '--target', 'es2022', '--types', '', file]
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    await run(process.execPath, [compiler, ...options]).catch(({ stdout }) =>
      assert.fail(String(stdout).slice(0, 2_000)),
    )
  } finally {
    await rm(folder, { recursive: true })
  }
}
