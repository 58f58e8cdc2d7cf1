/** The npm package, installed from the tarball of `npm pack` into an empty folder, on the oldest supported Node and on this one. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import { callTool } from '../support/mcp.ts'
import { untilGone } from '../support/processes-left.ts'
import { run } from '../support/run.ts'
import { cloneTo } from './clone.ts'

const OLDEST_NODE = '22.19.0'
const INSTALL = ['install', '--no-audit', '--no-fund', '--loglevel=error']

const folder = mkdtempSync(join(tmpdir(), 'portolan-package-'))
const clone = join(folder, 'clone')
const empty = join(folder, 'empty')
const servers = join(empty, 'mcp.json')

before(async () => {
  cloneTo(clone)
  const packed = await npm(['pack', '--pack-destination', folder, '--loglevel=error'], clone)
  mkdirSync(join(empty, 'files'), { recursive: true })
  writeFileSync(join(empty, 'package.json'), '{}')
  await npm([...INSTALL, join(folder, packed.trim().split('\n').at(-1) ?? '')], empty)
  await npm([...INSTALL, '--prefix', join(folder, 'oldest'), `node@${OLDEST_NODE}`], folder)
  const args = ['-y', '@modelcontextprotocol/server-filesystem@2026.8.31', 'files']
  writeFileSync(servers, JSON.stringify({ mcpServers: { files: { command: 'npx', args } } }))
  writeFileSync(join(empty, 'files', 'cargo.txt'), 'twelve barrels')
})
after(() => rmSync(folder, { recursive: true }))

async function npm(args: string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await run('npm', args, { cwd })
  assert.equal(code, 0, stderr)
  return stdout
}

/** Runs `npx portolan` with this Node first on the PATH. */
function portolan(node: string, args: string[]): ChildProcess {
  const { NODE_COMPILE_CACHE: _, npm_command: __, ...env } = process.env
  const PATH = [dirname(node), env.PATH].join(delimiter)
  return spawn('npx', ['--no-install', 'portolan', ...args], {
    cwd: empty,
    env: { ...env, PATH, PORTOLAN_CACHE: join(folder, 'cache'), PORTOLAN_MODEL: join(folder, 'no-model') },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function ended(child: ChildProcess): Promise<{ code: number; stdout: string; stderr: string }> {
  const texts = { stdout: '', stderr: '' }
  child.stdout?.on('data', text => (texts.stdout += text))
  child.stderr?.on('data', text => (texts.stderr += text))
  const [code] = await once(child, 'close')
  return { code, ...texts }
}

test('the tarball contains the bundle, its own manifest and its own README, and packing leaves the clone unchanged', () => {
  const installed = join(empty, 'node_modules', 'portolan')
  assert.deepEqual(readdirSync(installed).sort(), ['LICENSE', 'README.md', 'dist', 'package.json'])
  const { version } = JSON.parse(readFileSync(join(clone, 'package.json'), 'utf8'))
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  assert.equal(manifest.version, version)
  for (const field of ['dependencies', 'devDependencies', 'scripts', 'private'])
    assert.equal(field in manifest, false, field)
  assert.match(readFileSync(join(installed, 'README.md'), 'utf8'), /npx portolan up/)
  for (const file of ['README.md', 'package.json'])
    assert.equal(readFileSync(join(clone, file), 'utf8'), readFileSync(file, 'utf8'))
})

const NODES = {
  [OLDEST_NODE]: () => join(folder, 'oldest', 'node_modules', 'node', 'bin', 'node'),
  [process.versions.node]: () => process.execPath,
}

for (const [version, node] of Object.entries(NODES)) {
  test(`on Node ${version}, check, search, call, tokens and model work from an empty folder`, async () => {
    const { code, stdout } = await ended(portolan(node(), ['--version']))
    assert.deepEqual([code, /^\d+\.\d+\.\d+\n$/.test(stdout)], [0, true])
    const checked = await ended(portolan(node(), ['check', 'mcp.json']))
    assert.match(checked.stdout, /1 server in 1 file, no problems/)
    const found = await ended(portolan(node(), ['search', 'read a text file', 'mcp.json']))
    assert.match(found.stdout, /files:read_text_file/, found.stderr)
    assert.doesNotMatch(found.stderr, /Warning/)
    const args = ['call', 'files:read_text_file', '{"path": "cargo.txt"}', 'mcp.json']
    assert.equal((await ended(portolan(node(), args))).stdout, 'twelve barrels\n')
    const cost = await ended(portolan(node(), ['tokens', 'mcp.json']))
    assert.match(cost.stdout, /14 tools would cost an agent [\d,]+ tokens directly/)
    const model = await ended(portolan(node(), ['model', '--from', join(folder, 'nowhere')]))
    assert.deepEqual([model.code, /nowhere/.test(model.stderr)], [1, true])
  })

  test(`on Node ${version}, up serves, and ends with all its servers when npx gets SIGTERM`, async t => {
    const mark = randomUUID()
    const child = portolan(node(), [
      'up',
      'mcp.json',
      '--port',
      '0',
      '-o',
      'json',
      '--secrets',
      emptyFolder(mark),
    ])
    t.after(() => child.kill())
    const [line] = await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line')
    const { url } = JSON.parse(line)
    const call = { tool_path: 'files:read_text_file', arguments: { path: 'cargo.txt' } }
    assert.match(JSON.stringify(await callTool(url, 'execute_mcp_tool', call)), /twelve barrels/)
    child.kill('SIGTERM')
    assert.deepEqual(await untilGone(mark), [])
    await assert.rejects(fetch(url))
  })
}

/** Creates a folder whose path, an argument of the process, contains the mark. */
function emptyFolder(name: string): string {
  const path = join(folder, name)
  mkdirSync(path)
  return path
}
