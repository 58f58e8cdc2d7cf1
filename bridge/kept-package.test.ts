/** When an installation on a volume counts as complete. */
import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { folderOf, readKept, removeIncomplete, writeKept } from './kept-package.ts'

const TWO_HOURS_MS = 2 * 60 * 60_000
const RELEASE = { version: '1.0.0', integrity: 'sha512-a' }

function volume(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-kept-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const startFile = join(folder, 'start.json')
  const program = join(folder, 'program')
  writeFileSync(program, '')
  chmodSync(program, 0o755)
  return { folder, startFile, program }
}

test('an installation that one pod wrote can be read by any pod', async t => {
  const { startFile, program } = volume(t)
  const start = { command: process.execPath, args: [program] }
  await writeKept(startFile, 'web-1', start, RELEASE)
  await writeKept(startFile, 'web-2', start, RELEASE)
  const platform = `${process.platform}-${process.arch}`
  assert.deepEqual(await readKept(startFile), { ...start, platform, release: RELEASE })
})

test('a start file that is missing, damaged, of another platform or without its files is not an installation', async t => {
  const { folder, startFile, program } = volume(t)
  const platform = `${process.platform}-${process.arch}`
  const complete = { command: process.execPath, args: [program], platform, release: RELEASE }
  assert.equal(await readKept(startFile), undefined)
  const cases = [
    '',
    '{}',
    JSON.stringify(complete).slice(0, -9),
    JSON.stringify({ ...complete, release: {} }),
    JSON.stringify({ ...complete, args: [1] }),
    JSON.stringify({ ...complete, platform: 'plan9-mips' }),
    JSON.stringify({ ...complete, command: join(folder, 'missing') }),
    JSON.stringify({ ...complete, args: [join(folder, 'missing')] }),
  ]
  for (const text of cases) {
    writeFileSync(startFile, text)
    assert.equal(await readKept(startFile), undefined, text)
  }
  writeFileSync(startFile, JSON.stringify(complete))
  assert.ok(await readKept(startFile))
})

test('a console script whose Python is no longer in the image does not count as an installation', async t => {
  const { folder, startFile } = volume(t)
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const script = join(bin, 'server')
  writeFileSync(script, '', { mode: 0o755 })
  const release = { ...RELEASE, variant: 'python3.13' }
  await writeKept(startFile, 'web-1', { command: script, args: [] }, release)
  symlinkSync('/nowhere/python3.13', join(bin, 'python'))
  assert.equal(await readKept(startFile), undefined)
  rmSync(join(bin, 'python'))
  symlinkSync(process.execPath, join(bin, 'python'))
  assert.ok(await readKept(startFile))
})

test('a console script whose Python is of another version than its packages does not count as an installation', async t => {
  const { folder, startFile } = volume(t)
  for (const made of ['bin', 'lib/python3.12t', 'image']) mkdirSync(join(folder, made), { recursive: true })
  const script = join(folder, 'bin', 'server')
  const link = join(folder, 'image', 'python3')
  for (const file of [script, join(folder, 'image/python3.12'), join(folder, 'image/python3.13')])
    writeFileSync(file, '', { mode: 0o755 })
  symlinkSync(link, join(folder, 'bin', 'python'))
  await writeKept(startFile, 'web-1', { command: script, args: [] }, { ...RELEASE, variant: 'python3.12t' })
  symlinkSync('python3.12', link)
  assert.ok(await readKept(startFile))
  rmSync(link)
  symlinkSync('python3.13', link)
  assert.equal(await readKept(startFile), undefined)
})

test('old folders of other pods are removed, but not the one that the start file names for another platform', async t => {
  const { folder, startFile } = volume(t)
  const [named, left, own] = ['web-1', 'web-10', 'web-2'].map(pod => join(folder, folderOf(pod)))
  for (const made of [named, left, own]) mkdirSync(made ?? '')
  const server = join(named ?? '', 'server.js')
  writeFileSync(server, '')
  const other = { command: process.execPath, args: [server], platform: 'plan9-mips', release: RELEASE }
  writeFileSync(startFile, JSON.stringify(other))
  assert.equal(await readKept(startFile), undefined)
  await removeIncomplete(startFile, 'web-2', Date.now() + TWO_HOURS_MS)
  assert.deepEqual(
    [named, left, own].map(path => existsSync(path ?? '')),
    [true, false, true],
  )
})

test('an old folder of the same platform is removed although the start file names it, if it cannot be used', async t => {
  const { folder, startFile } = volume(t)
  const named = join(folder, folderOf('web-1'))
  mkdirSync(named)
  await writeKept(startFile, 'web-1', { command: process.execPath, args: [join(named, 'gone.js')] }, RELEASE)
  assert.equal(await readKept(startFile), undefined)
  await removeIncomplete(startFile, 'web-2', Date.now() + TWO_HOURS_MS)
  assert.equal(existsSync(named), false)
})

test('two pods may remove the same folders at the same time', async t => {
  const { folder, startFile } = volume(t)
  for (let at = 0; at < 100; at++) mkdirSync(join(folder, folderOf(`web-${at}`)))
  const later = Date.now() + TWO_HOURS_MS
  await Promise.all(['a', 'b', 'c'].map(pod => removeIncomplete(startFile, pod, later)))
  assert.deepEqual(readdirSync(folder), ['program'])
})
