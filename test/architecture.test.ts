/** Checks rules under "Never" in ARCHITECTURE.md: who may import whom, what pure files may use, how long files and functions may be. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix, relative, sep } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const MAX_FILE_LINES = 300
const MAX_FUNCTION_LINES = 60
const FOLDERS = ['crds', 'core', 'operator', 'router', 'bridge', 'local', 'cli', 'console'] as const
type Folder = (typeof FOLDERS)[number]

const MAY_IMPORT: Record<Folder, readonly Folder[]> = {
  crds: ['crds'],
  core: ['crds', 'core'],
  operator: ['crds', 'core', 'operator'],
  router: ['crds', 'core', 'router'],
  bridge: ['crds', 'core', 'bridge'],
  local: ['crds', 'core', 'router', 'local'],
  console: ['crds', 'core', 'console'],
  cli: ['crds', 'core', 'operator', 'router', 'bridge', 'local', 'cli'],
}

/**
 * Folders and files that do no I/O and read no clock, environment, randomness or log; besides them, each file whose first comment says
 * that it is pure.
 */
const PURE = [
  'crds/',
  'core/catalog/',
  'core/json.ts',
  'core/backoff.ts',
  'core/errors.ts',
  'core/mcp/discovery/schedule.ts',
  'core/mcp/protocol/',
  'operator/plan/',
  'router/catalog/',
  'local/import/',
]
/** The postings library is pure; the word lists are read once when an index is first built. */
const PURE_MAY_IMPORT = new Set([
  'node:crypto',
  'node:path',
  'node:util',
  'node:zlib',
  'zod',
  'flexsearch',
  're2js',
  'wink-porter2-stemmer',
  'jsonc-parser',
  'yaml',
])

/** The functions of `node:net` that pure files may import. */
const PURE_OF_NET = /^import \{(?: (?:type )?(?:BlockList|isIPv?[46]?),?)+ \} from 'node:net'$/m

/** Values that the page of the console takes from core: pure files that import nothing. */
const FOR_THE_PAGE = /^core\/(?:exact-json|hidden-characters|json|percent-decoded|sum)\.ts$/

type Source = { path: string; folder: Folder; text: string; code: string }
const sources = FOLDERS.flatMap(folder => filesOf(join(root, folder)).map(path => read(path, folder)))

test('imports run crds ← core ← operator, router, bridge, local ← cli', () => {
  const wrong = sources.flatMap(source =>
    importsOf(source)
      .filter(name => name.startsWith('.'))
      .map(name => posix.normalize(posix.join(posix.dirname(source.path), name)))
      .filter(target => target !== 'package.json')
      .filter(target => !MAY_IMPORT[source.folder].includes(target.split('/')[0] as Folder))
      .map(target => `${source.path} imports ${target}`),
  )
  assert.deepEqual(wrong, [])
})

test('protocol, server and client of MCP meet only in protocol and in the files beside them', () => {
  const side = (path: string) => /^core\/mcp\/(protocol|server|client)\//.exec(path)?.[1]
  const wrong = sources.flatMap(source => {
    const own = side(source.path)
    if (own === undefined || source.path.endsWith('.test.ts')) return []
    return importsOf(source)
      .filter(name => name.startsWith('.'))
      .map(name => posix.normalize(posix.join(posix.dirname(source.path), name)))
      .filter(target => ![own, 'protocol', undefined].includes(side(target)))
      .map(target => `${source.path} imports ${target}`)
  })
  assert.deepEqual(wrong, [])
})

test('the page of the console takes nothing but types and pure files from core and crds', () => {
  const wrong = sources
    .filter(({ folder, path }) => folder === 'console' && !path.includes('.test.'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/^import (?!type )[^;'"]*?from '((?:\.\.\/)+(?:core|crds)\/[^']*)'/gm)]
        .map(([, name = '']) => posix.normalize(posix.join(posix.dirname(path), name)))
        .filter(target => !FOR_THE_PAGE.test(target))
        .map(target => `${path} imports ${target}`),
    )
  assert.deepEqual(wrong, [])
})

test('crds imports zod only', () => {
  const wrong = sources
    .filter(source => source.folder === 'crds')
    .flatMap(source =>
      importsOf(source)
        .filter(name => !name.startsWith('.') && name !== 'zod')
        .map(name => `${source.path} imports ${name}`),
    )
  assert.deepEqual(wrong, [])
})

test('pure files import only packages without side effects', () => {
  const wrong = pureSources().flatMap(source =>
    importsOf(source)
      .filter(name => !name.startsWith('.') && !PURE_MAY_IMPORT.has(name))
      .filter(name => name !== 'node:net' || !PURE_OF_NET.test(source.text))
      .map(name => `${source.path} imports ${name}`),
  )
  assert.deepEqual(wrong, [])
})

test('pure files read no clock, environment, randomness or log', () => {
  const impure =
    /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bprocess\.|\bMath\.random\b|\bset(?:Timeout|Interval|Immediate)\b|\bfetch\(|\brandom(?:UUID|Bytes)\b|\bglobalThis\b/
  const wrong = pureSources().flatMap(source => matches(source, impure))
  assert.deepEqual(wrong, [])
})

test('environment and argv are read only in main.ts, config.ts and cli/', () => {
  const wrong = sources
    .filter(source => source.folder !== 'cli' && !/(^|\/)(main|config)\.ts$/.test(source.path))
    .flatMap(source => matches(source, /\bprocess\.(env|argv)\b/))
  assert.deepEqual(wrong, [])
})

test('only core/kube talks to the API server', () => {
  const wrong = sources
    .filter(source => !source.path.startsWith('core/kube/'))
    .flatMap(source =>
      importsOf(source)
        .filter(name => name === '@kubernetes/client-node')
        .map(() => source.path),
    )
  assert.deepEqual(wrong, [])
})

test('the MCP SDK is loaded when it is used, not when a program starts', () => {
  const staticImport = /^import (?!type )[^;]*?from '@modelcontextprotocol\/sdk/m
  const wrong = sources.filter(({ path, text }) => !path.endsWith('.test.ts') && staticImport.test(text))
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  )
})

test('the tracing libraries are loaded only by a dynamic import in core/tracing.ts', () => {
  const users = (name: RegExp) =>
    sources.filter(source => importsOf(source).some(imported => name.test(imported))).map(({ path }) => path)
  assert.deepEqual(users(/^@opentelemetry\//), ['core/trace-otlp.ts'])
  assert.deepEqual(users(/\/trace-otlp\.ts$/), ['core/tracing.ts'])
  const loads = readFileSync(join(root, 'core', 'tracing.ts'), 'utf8')
  assert.doesNotMatch(loads, /from '\.\/trace-otlp/)
  assert.match(loads, /await import\('\.\/trace-otlp\.ts'\)/)
})

test('no console, no default export, no any, no barrel', () => {
  const wrong = sources.flatMap(source => [
    ...matches(source, /\bconsole\.\w+/),
    ...matches(source, /^export default\b/m),
    ...matches(source, /:\s*any\b|\bas any\b|<any>/),
    ...matches(source, /^export (?:\*|\{[^}]*\}) from /m),
  ])
  assert.deepEqual(wrong, [])
})

test('nothing runs at import and no module keeps mutable state', () => {
  const wrong = sources
    .filter(source => !/(^|\/)main\.tsx?$/.test(source.path) && !/worker\.ts$/.test(source.path))
    .flatMap(source => [
      ...matches(source, /^let\b.*/m),
      ...matches(source, /^(?:await|if|for|while|try|void)\b.*/m),
      ...matches(source, /^[a-zA-Z_$][\w$.]*\(.*/m),
      ...matches(
        source,
        /^(?:export )?const \w+(?:: [^=]+)? = new (?:Map|Set|WeakMap|Array)(?:<[^=]*>)?\(\)\s*$/m,
      ),
    ])
  assert.deepEqual(wrong, [])
})

test('no file is named utils, helpers, common, manager or types', () => {
  const names = /(^|\/)(utils?|helpers?|common|managers?|types)\.ts$/
  assert.deepEqual(
    allFiles().filter(path => names.test(path)),
    [],
  )
})

test(`files stay within ${MAX_FILE_LINES} lines`, () => {
  const wrong = allFiles()
    .map(path => ({ path, lines: readFileSync(join(root, path), 'utf8').split('\n').length - 1 }))
    .filter(file => file.lines > MAX_FILE_LINES)
  assert.deepEqual(wrong, [])
})

test(`functions stay within ${MAX_FUNCTION_LINES} lines`, () => {
  const wrong = allFiles()
    .filter(path => !path.endsWith('.test.ts'))
    .flatMap(path => longFunctions(path, readFileSync(join(root, path), 'utf8')))
  assert.deepEqual(wrong, [])
})

test('every file begins with a comment that says what it is', () => {
  const wrong = sources.filter(source => !/^(#!.*\n)?\/\*\*/.test(source.text)).map(source => source.path)
  assert.deepEqual(wrong, [])
})

test('no file contains an absolute path of a development machine', () => {
  const pattern = new RegExp(`(^|[^A-Za-z0-9_.])/(${['work', 'root', 'farm'].join('|')})/[a-z]`)
  const text = [
    ...allFiles(),
    'README.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    'package.json',
  ]
  const wrong = text.filter(path => pattern.test(readFileSync(join(root, path), 'utf8')))
  assert.deepEqual(wrong, [])
})

function pureSources(): Source[] {
  const saysPure = /^(?:#!.*\n)?\/\*\*(?:(?!\*\/)[\s\S])*\bPure\b/
  return sources.filter(({ path, text }) => PURE.some(place => path.startsWith(place)) || saysPure.test(text))
}

function filesOf(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => /\.(?:ts|tsx|mjs)$/.test(name))
    .filter(name => !name.endsWith('.d.ts') && !name.includes('node_modules'))
    .map(name => relative(root, join(folder, name)).split(sep).join('/'))
}

function allFiles(): string[] {
  return [...FOLDERS, 'scripts', 'test'].flatMap(folder => filesOf(join(root, folder)))
}

function read(path: string, folder: Folder): Source {
  const text = readFileSync(join(root, path), 'utf8')
  return { path, folder, text, code: withoutTextAndComments(text) }
}

/** Type-only imports of packages are not loaded, and do not count. */
function importsOf(source: Source): string[] {
  if (source.path.endsWith('.test.ts')) return []
  const text = source.text.replaceAll(/^import type [^'"]*from '[^.'][^']*'$/gm, '')
  return [
    ...text.matchAll(
      /^\s*(?:import|export)\b[^'"`;]*?from\s+['"]([^'"]+)['"]|^import\s+['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm,
    ),
  ].map(match => match[1] ?? match[2] ?? match[3] ?? '')
}

function matches(source: Source, pattern: RegExp): string[] {
  if (source.path.endsWith('.test.ts')) return []
  const found = pattern.exec(source.code)
  return found ? [`${source.path}: ${found[0].trim()}`] : []
}

/** Blanks comments and string contents, so that patterns see only code; newlines stay. */
function withoutTextAndComments(text: string): string {
  const blank = (part: string) => part.replace(/[^\n]/g, ' ')
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g, part =>
    part[0] === '/' ? blank(part) : `${part[0]}${blank(part.slice(1, -1))}${part[0]}`,
  )
}

/** Named functions and methods whose closing brace stands at the indentation of their first line. */
function longFunctions(path: string, text: string): string[] {
  const lines = text.split('\n')
  const wrong: string[] = []
  lines.forEach((line, start) => {
    const head =
      /^(\s*)(?:export )?(?:async )?(?:function\*? \w+|(?:private |readonly |static |async |\*|get |set )*[\w$]+\([^)]*\)[^;=]*\{$|const \w+ = (?:async )?\(?[^=]*=> \{$)/.exec(
        line,
      )
    if (!head || /^\s*(?:if|for|while|switch|test|describe|it|return|await)\b/.test(line)) return
    const indent = head[1] ?? ''
    const end = lines.findIndex((other, at) => at > start && other.startsWith(`${indent}}`))
    if (end - start + 1 > MAX_FUNCTION_LINES) wrong.push(`${path}:${start + 1} (${end - start + 1} lines)`)
  })
  return wrong
}
