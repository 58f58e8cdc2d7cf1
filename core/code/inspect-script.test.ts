/** Which tools a script names, and that no script takes long to be read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cpuMs } from '../../test/support/cpu-time.ts'
import { inspectScript } from './inspect-script.ts'
import { unfenced, wrapped } from './script-forms.ts'

const SIZE = 64 * 1024
/** Of CPU time. Quadratic time would be ten seconds and more. */
const MAX_MS = 2_000

const toolsOf = (code: string) => inspectScript(code).tools

test('tools are found by names and keys, with spaces and optional chaining', () => {
  const cases: [string, string[]][] = [
    ['tools.a.b()', ['a:b']],
    ['tools\n  .a\n  ?.b()', ['a:b']],
    ['tools?.a ?. ["b"]()', ['a:b']],
    ["tools['a:b'] ()", ['a:b']],
    ['tools . a [ "b" ].raw()', ['a:b']],
    ['my.tools.a.b(); mytools.c.d()', []],
  ]
  for (const [code, tools] of cases) assert.deepEqual(toolsOf(code), tools, code)
})

test('names in comments, strings, texts of templates and regular expressions are ignored, code around and within them is not', () => {
  const cases: [string, string[]][] = [
    ['`https://x`; tools.a.b()', ['a:b']],
    ['`/*`; tools.a.b()', ['a:b']],
    ['`tools.c.d()`; tools.a.b()', ['a:b']],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the code of a script
    ['`x ${await tools.a.b({ q: `// ${tools.c.d({})}` })} tools.e.f`; tools.g.h()', ['a:b', 'c:d', 'g:h']],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the code of a script
    ['`\\` tools.c.d \\${ tools.e.f } $`; tools.a.b()', ['a:b']],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the code of a script
    ['if (x) { `${{}}` } tools.a.b()', ['a:b']],
    ['// tools.c.d()\n/* tools.e.f() */ tools.a.b("tools.g.h()")', ['a:b']],
    ["x.replace(/'/g, ''); x.split(/`/); x.match( /\"/ ); tools.a.b()", ['a:b']],
    ['const half = (a) / 2; tools.a.b(); half / 3', ['a:b']],
    ['lines.filter(l => /^```/.test(l))\nawait tools.a.b()', ['a:b']],
    ['/`/.test(x) && tools.a.b()', ['a:b']],
    ['if (x) /"/g.exec(x)\ntools.a.b()', ['a:b']],
    ["if (x) {}\n/'/.exec(x); tools.a.b()", ['a:b']],
    ['const f = l =>\n  // a fence\n  /^`/.test(l)\ntools.a.b()', ['a:b']],
    ["switch (x) { case /'/.source: tools.a.b() }", ['a:b']],
    ['typeof /"/; tools.a.b()', ['a:b']],
    ["const r = (a + b) / 2; tools.a.b({ path: 'x/y' }); tools.c.d()", ['a:b', 'c:d']],
    ["const r = total\n  / count; tools.a.b('/'); tools.c.d() / 2", ['a:b', 'c:d']],
  ]
  for (const [code, tools] of cases) assert.deepEqual(toolsOf(code), tools, code)
})

test('fences, and the semicolons after an expression, are removed', () => {
  const cases: [string, string][] = [
    ['```js\na\n```', 'a'],
    ['\n ```\n  a\n\n  ```\n', '  a\n'],
    ['```js  \r\na\r\n```', 'a\r'],
    ['```\n```', ''],
    ['```js a\nb\n```', '```js a\nb\n```'],
    ['```js\na', '```js\na'],
    ['```a```', '```a```'],
    ['\uFEFFa', 'a'],
  ]
  for (const [source, code] of cases) assert.equal(unfenced(source), code, JSON.stringify(source))
  assert.deepEqual(wrapped('a ; ;\n'), ['(async (input) => (\na\n))', '(async (input) => {\na ; ;\n\n})'])
  assert.equal(wrapped(' ;; ').length, 1)
})

const LONG: Record<string, string> = {
  semicolons: `${';'.repeat(SIZE)}a`,
  'spaces after tools': `tools${' '.repeat(SIZE)}a`,
  'spaces in a fence': `\`\`\`\n${' '.repeat(SIZE)}a`,
  'line breaks in a fence': `\`\`\`\n${'\n '.repeat(SIZE / 2)}a\n\`\`\``,
  'fences in a fence': `\`\`\`\n${'``` '.repeat(SIZE / 4)}a`,
  'comments that do not end': '/*'.repeat(SIZE / 2),
  'strings that do not end': "'\\".repeat(SIZE / 2),
  'templates that do not end': '`\\'.repeat(SIZE / 2),
  'templates within templates': '`${'.repeat(SIZE / 3),
  'regular expressions that do not end': '(/\\'.repeat(SIZE / 3),
  'slashes that close nothing': '/a'.repeat(SIZE / 2),
  'spaces without slashes': `(${' '.repeat(SIZE)}`,
  'slashes after spaces': `(${' '.repeat(SIZE / 2)}${'/ '.repeat(SIZE / 4)}`,
}
for (const [what, code] of Object.entries(LONG))
  test(`a long script is read in a moment: ${what}`, () => {
    const began = cpuMs()
    inspectScript(code)
    const ms = cpuMs() - began
    assert.ok(ms < MAX_MS, `${ms} ms`)
  })

test('a script of thousands of nested brackets does not affect how other scripts are read', () => {
  const typed = 'const count: number = 1; return count'
  assert.equal(inspectScript(typed).problem, undefined)
  assert.match(
    inspectScript(`${'['.repeat(10_000)}a: number`).problem ?? '',
    /SyntaxError|Unexpected|Invalid|Maximum/,
  )
  assert.equal(inspectScript(typed).problem, undefined)
  assert.match(inspectScript('enum Color { Red }').problem ?? '', /only type annotations are ignored/)
})

test('an error at the end of a script has the number of its last line', () => {
  assert.match(inspectScript('return 1+\n').problem ?? '', /^line 1 of the code: Unexpected token/)
  assert.match(inspectScript('const a = 1\nreturn (a\n\n').problem ?? '', /^line 2 of the code: /)
  assert.match(inspectScript('return a +* 2\nb').problem ?? '', /^line 1 of the code: /)
})
