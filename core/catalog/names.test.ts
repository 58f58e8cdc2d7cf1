/** Names and URIs that agents see, in both directions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cpuMs } from '../../test/support/cpu-time.ts'
import {
  exposedUri,
  listedNames,
  MAX_LISTED_NAME,
  parseListedName,
  parseResource,
  parseToolPath,
  resourcePath,
  toolPath,
} from './names.ts'

const serverName = fc.stringMatching(/^[a-z]([-a-z0-9]{0,20}[a-z0-9])?$/)
const toolName = fc.string({ minLength: 1, maxLength: 90, unit: 'grapheme' })
const tool = fc.record({ server: serverName, tool: toolName })

test('a tool path is parsed into its server and tool, whatever the name of the tool', () => {
  fc.assert(
    fc.property(serverName, toolName, (server, tool) =>
      assert.deepEqual(parseToolPath(toolPath(server, tool)), { server, tool }),
    ),
  )
  assert.deepEqual(parseToolPath('git:log:all'), { server: 'git', tool: 'log:all' })
  for (const text of ['', 'git', ':log', 'git:']) assert.equal(parseToolPath(text), undefined, text)
})

test('a listed name that needed no change is split at its first two underscores', () => {
  assert.deepEqual(parseListedName('git__log__all'), { server: 'git', tool: 'log__all' })
  assert.deepEqual(parseListedName('git___log'), { server: 'git', tool: '_log' })
  for (const text of ['', 'git_log', '__log', 'git__']) assert.equal(parseListedName(text), undefined, text)
})

test('listed names are unique, short, of ASCII letters, and do not depend on the order of the tools', () => {
  fc.assert(
    fc.property(fc.array(tool, { maxLength: 30 }), tools => {
      const names = listedNames(tools)
      assert.equal(names.size, new Set(tools.map(each => toolPath(each.server, each.tool))).size)
      assert.equal(new Set(names.values()).size, names.size)
      for (const name of names.values())
        assert.match(name, new RegExp(`^[A-Za-z0-9_-]{1,${MAX_LISTED_NAME}}$`))
      assert.deepEqual(new Map([...listedNames(tools.toReversed())].sort()), new Map([...names].sort()))
    }),
  )
})

test('names are changed only as far as necessary', () => {
  const names = listedNames([
    { server: 'files', tool: 'read_file' },
    { server: 'files', tool: 'list.all' },
    { server: 'a', tool: 'x.y' },
    { server: 'a', tool: 'x_y' },
    { server: 'a', tool: 'x:y' },
    { server: 'wide', tool: 't'.repeat(80) },
    { server: 'uni', tool: '搜索' },
    { server: 'uni', tool: '列表' },
  ])
  assert.deepEqual(Object.fromEntries(names), {
    'files:read_file': 'files__read_file',
    'files:list.all': 'files__list_all',
    'a:x_y': 'a__x_y',
    'a:x.y': 'a__x_y_0dcb20a1',
    'a:x:y': 'a__x_y_5f212984',
    [`wide:${'t'.repeat(80)}`]: `wide__${'t'.repeat(49)}_c66af86c`,
    'uni:搜索': 'uni_____5b6626b3',
    'uni:列表': 'uni_____dc04879d',
  })
})

test('a tool whose own name looks like a shortened one does not collide with it', () => {
  const long = { server: 'wide', tool: 't'.repeat(80) }
  const shortened = listedNames([long]).values().next().value ?? ''
  const names = listedNames([long, { server: 'wide', tool: shortened.slice('wide__'.length) }])
  assert.equal(new Set(names.values()).size, 2)
})

test('10,000 tools whose names all collide are named quickly', () => {
  const tools = Array.from({ length: 10_000 }, (_, index) => ({
    server: 'a',
    tool: String.fromCodePoint(0x4e00 + index),
  }))
  const started = cpuMs()
  assert.equal(new Set(listedNames(tools).values()).size, 10_000)
  assert.ok(cpuMs() - started < 2_000)
})

const uri = fc.oneof(
  fc.webUrl(),
  fc.string({ maxLength: 40 }),
  fc.string({ maxLength: 40 }).map(rest => `ui://${rest}`),
  fc.constantFrom('file:///a+b|c', 'git+ssh://x', 'ui://', 'ui://a/b', 'db://{table}/{+path}', ''),
)

test('every form of a resource is parsed into its server and URI', () => {
  fc.assert(
    fc.property(serverName, uri, (server, uri) => {
      assert.deepEqual(parseResource(exposedUri(server, uri)), { server, uri })
      assert.deepEqual(parseResource(resourcePath(server, uri)), { server, uri })
    }),
  )
})

test('an exposed URI is a valid URI, and ui:// stays ui://', () => {
  assert.equal(exposedUri('files', 'file:///a'), 'files+file:///a')
  assert.equal(exposedUri('charts', 'ui://a/b'), 'ui://charts/a/b')
  assert.ok(URL.canParse(exposedUri('files', 'file:///a')))
  for (const text of ['', 'file:///a', '+x', '|x', 'ui://x', 'Not+a', 'http://a+b'])
    assert.equal(parseResource(text), undefined, text)
})
