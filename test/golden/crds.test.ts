/** The generated CRDs, held against what the API server demands of them and against our own parser. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { parseManifest } from '../../crds/parse.ts'
import { kindDefinitions, type Schema, structuralSchema } from '../../scripts/crd.ts'
import { generatedFiles } from '../../scripts/generate.ts'
import { admission } from '../support/admission.ts'

const root = dirname(dirname(import.meta.dirname))
const schemas = new Map(kindDefinitions().map(definition => [definition.kind, structuralSchema(definition)]))

const admissions = new Map([...schemas].map(([kind, schema]) => [kind, admission(schema)]))

test('the generated files are those in the repository', () => {
  for (const [path, content] of generatedFiles()) {
    const same = readFileSync(join(root, path), 'utf8') === content
    assert.ok(same, `${path} is outdated: run npm run generate`)
  }
})

const ALLOWED = new Set(
  `additionalProperties default description enum format items maxItems maxLength maximum minItems minLength minimum pattern
  properties required type x-kubernetes-list-map-keys x-kubernetes-list-type x-kubernetes-preserve-unknown-fields
  x-kubernetes-validations`.split(/\s+/),
)

for (const [kind, schema] of schemas) {
  test(`the schema of ${kind} is structural`, () => {
    walk(schema, kind, (node, path) => {
      assert.ok(node.type, `${path} has no type`)
      for (const key of Object.keys(node)) assert.ok(ALLOWED.has(key), `${path} has ${key}`)
      assert.ok(!(node.properties && node.additionalProperties), `${path} has properties and additionalProperties`)
      assert.equal(node.type === 'array', node.items !== undefined, `${path} is no list with items`)
      const known = Object.keys(node.properties ?? {})
      for (const name of node.required ?? []) assert.ok(known.includes(name), `${path} requires ${name}`)
      const content = node.properties ?? node.additionalProperties ?? node['x-kubernetes-preserve-unknown-fields']
      assert.ok(node.type !== 'object' || content || path.endsWith('metadata'), `${path} would be pruned empty`)
    })
  })

  test(`defaults of ${kind} satisfy their own schemas`, () => {
    walk(schema, kind, (node, path) => {
      if (node.default === undefined) return
      assert.equal(admission(node)(node.default as JsonValue), undefined, path)
    })
  })

  test(`no default of ${kind} is within a list`, () => {
    walk(schema, kind, ({ items }, path) => {
      if (!items) return
      walk(items, `${path}[]`, (node, at) => assert.equal(node.default, undefined, at))
    })
  })

  test(`lists of ${kind} that are maps require their keys`, () => {
    walk(schema, kind, (node, path) => {
      const keys = (node as { 'x-kubernetes-list-map-keys'?: string[] })['x-kubernetes-list-map-keys'] ?? []
      for (const key of keys) assert.ok(node.items?.required?.includes(key), `${path} by ${key}`)
    })
  })
}

/** What the API server does not refuse: it drops fields that it does not know, and does not know what is no object of ours. */
const NOT_REFUSED = new Set(['UnknownField', 'MissingField apiVersion', 'MissingField kind', 'UnknownKind', 'UnknownApiVersion'])

function answerOf(value: JsonObject): string | undefined {
  const admit = admissions.get(String(value.kind))
  assert.ok(admit, String(value.kind))
  return admit(value)
}

for (const { name, value } of documentsIn('manifests')) {
  test(`the API server would accept ${name}`, () => assert.equal(answerOf(value), undefined))
}

for (const { name, value } of documentsIn('broken')) {
  const { problems = [] } = parseManifest(value)
  const refused = problems.some(({ reason, path }) => !NOT_REFUSED.has(reason) && !NOT_REFUSED.has(`${reason} ${path}`))
  if (!isObject(value) || !schemas.has(String(value.kind)) || problems.some(({ path }) => path === 'apiVersion')) continue
  if (problems.some(({ path }) => path.startsWith('metadata.labels'))) continue
  test(`the API server and our parser agree on ${name}`, () => {
    const answer = answerOf(value)
    assert.equal(answer !== undefined, refused, answer ?? 'it would be accepted')
  })
}

function walk(schema: Schema, path: string, visit: (node: Schema, path: string) => void): void {
  visit(schema, path)
  for (const [name, child] of Object.entries(schema.properties ?? {})) walk(child, `${path}.${name}`, visit)
  if (schema.additionalProperties) walk(schema.additionalProperties, `${path}.*`, visit)
  if (schema.items) walk(schema.items, `${path}[]`, visit)
}

function documentsIn(folder: string): { name: string; value: JsonObject }[] {
  const names = readdirSync(join(import.meta.dirname, folder)).filter(name => /\.yaml$/.test(name))
  return names.flatMap(name => {
    const documents = parseAllDocuments(readFileSync(join(import.meta.dirname, folder, name), 'utf8'))
    return [...documents].flatMap((document, index) => {
      const value: unknown = document.errors.length === 0 ? document.toJS() : undefined
      const ours = isObject(value) && schemas.has(String(value.kind))
      return ours ? [{ name: `${name}, document ${index + 1}`, value }] : []
    })
  })
}
