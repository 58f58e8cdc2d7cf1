/** Manifest files: documents, positions of problems, limits. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_DOCUMENTS, MAX_FILE_BYTES, mergeManifests, parseManifestText } from './manifests.ts'

const manifest = (name: string, spec = 'npm: { package: a }') =>
  `apiVersion: portolan.dev/v1alpha1\nkind: McpServer\nmetadata: { name: ${name} }\nspec:\n  ${spec}\n`

const read = (text: string) => {
  const { manifests, problems } = parseManifestText(text, 'f.yaml')
  return {
    names: manifests.map(({ manifest, line }) => `${manifest.metadata.name}:${line}`),
    problems: problems.map(({ line, column, path, reason }) => `${line}:${column} ${path ?? ''} ${reason}`),
  }
}

test('a broken document does not keep the others of its file from being read', () => {
  const text = `${manifest('a')}---\nkind: [\n---\n${manifest('b')}---\n${manifest('c', 'npm: { pakage: a }')}`
  assert.deepEqual(read(text), {
    names: ['a:1', 'b:9'],
    problems: [
      '8:1  InvalidYaml',
      '19:3 spec.npm.package MissingField',
      '19:10 spec.npm.pakage UnknownField',
    ],
  })
  const { broken } = parseManifestText(text, 'f.yaml')
  assert.deepEqual(
    broken.map(({ name, line }) => `${name}:${line}`),
    ['undefined:7', 'c:15'],
  )
})

test('a List is split into its items, and problems point to the item', () => {
  const items = `apiVersion: v1\nkind: List\nitems:\n- ${manifest('a').replaceAll('\n', '\n  ')}\n- kind: McpServer\n`
  assert.deepEqual(read(items), { names: ['a:4'], problems: ['10:3 apiVersion MissingField'] })
})

test('JSON is read too, tabs and a byte order mark included', () => {
  const value = {
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpServer',
    metadata: { name: 'a' },
    spec: { npm: { package: 'a' } },
  }
  assert.deepEqual(read(`\uFEFF${JSON.stringify(value, null, '\t')}`).problems, [])
  assert.deepEqual(read(JSON.stringify({ ...value, spec: { npm: { package: 1 } } }, null, '\t')).problems, [
    '9:15 spec.npm.package InvalidType',
  ])
})

test('placeOf returns the line and column of a field, also in a List', () => {
  const labelled = manifest('a, labels: { "x.y/z": b }', 'npm: { package: a, args: [x, y] }')
  const items = `kind: List\nitems:\n- ${labelled.replaceAll('\n', '\n  ')}\n`
  const [found] = parseManifestText(items, 'f.yaml').manifests
  const place = (path: string) => {
    const { line, column } = found?.placeOf(path) ?? {}
    return `${line}:${column}`
  }
  assert.deepEqual(
    [
      place('metadata.name'),
      place('metadata.labels["x.y/z"]'),
      place('spec.npm.args[1]'),
      place('spec.npm.version'),
      place('spec.env[0].name'),
    ],
    ['5:21', '5:43', '7:34', '7:5', '6:3'],
  )
})

test('comments, empty documents and other kinds of Kubernetes are not problems', () => {
  const { skipped, ...rest } = parseManifestText(
    '# nothing\n---\n---\napiVersion: apps/v1\nkind: Deployment\n---\na: 1\n',
    'f.yaml',
  )
  assert.deepEqual(rest, { manifests: [], problems: [], broken: [] })
  assert.deepEqual(
    skipped.map(({ kind, line }) => `${kind}:${line}`),
    ['Deployment:4', ':7'],
  )
})

test('anchors and merge keys work, and problems within them have a line and column', () => {
  const text = `x: &npm { package: a, pinned: 1 }\n---\n${manifest('a', 'npm: { <<: &n { package: a }, version: "1" }')}`
  assert.deepEqual(read(text).names, ['a:3'])
  const broken = manifest('a', 'npm: &n { package: a, x: 1 }\n  pypi: *n')
  assert.deepEqual(read(broken).problems, [
    '4:1 spec SourceAmbiguous',
    '5:25 spec.npm.x UnknownField',
    '5:25 spec.pypi.x UnknownField',
  ])
})

test('files are bounded: size, documents, depth, aliases, cycles', () => {
  const reasons = (text: string) => read(text).problems.map(problem => problem.split(' ').at(-1))
  assert.deepEqual(reasons('a'.repeat(MAX_FILE_BYTES + 1)), ['TooLarge'])
  assert.deepEqual(reasons('--- {}\n'.repeat(MAX_DOCUMENTS + 1)), ['TooLarge'])
  assert.deepEqual(reasons('--- {}\n'.repeat(MAX_DOCUMENTS)), [])
  for (const text of [
    '['.repeat(20_000),
    '- '.repeat(20_000),
    `${'{a: '.repeat(101)}1${'}'.repeat(101)}`,
    'a: &a [*a]',
  ]) {
    assert.deepEqual(reasons(text), ['InvalidYaml'])
  }
  const lines = Array.from(
    { length: 8 },
    (_, index) => `a${index + 1}: &a${index + 1} [${Array(9).fill(`*a${index}`)}]`,
  )
  assert.deepEqual(reasons(`a0: &a0 x\n${lines.join('\n')}`), ['InvalidYaml'])
})

test('if two files define the same resource, the first is used and the second is a problem', () => {
  const files = ['a.yaml', 'b.yaml'].map(file => parseManifestText(manifest('a'), file))
  const { manifests, problems } = mergeManifests(files)
  assert.deepEqual(
    manifests.map(({ file }) => file),
    ['a.yaml'],
  )
  assert.deepEqual(problems, [
    {
      reason: 'DuplicateName',
      message: 'McpServer "a" is already defined at a.yaml:1: rename or remove one',
      path: 'metadata.name',
      file: 'b.yaml',
      line: 3,
      column: 19,
    },
  ])
})
