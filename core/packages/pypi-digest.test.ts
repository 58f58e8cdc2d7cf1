/** Which of the files that a wheel installs count for the digest of its content. */
import assert from 'node:assert/strict'
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { takeDigest } from './pypi-digest.ts'

const INFO = 'greeter-1.0.0.dist-info'
const CACHED = '__pycache__/greeter.cpython-311.pyc'
const ENTRY_POINTS =
  '[console_scripts]\ngreeter = greeter:main\n[gui_scripts]\ngreeter-window = greeter:show\n'
const WHEEL: Files = { 'greeter.py': 'print(1)', [`${INFO}/entry_points.txt`]: ENTRY_POINTS }

type Files = Record<string, string>

/** A virtual environment with the files of one package, all named in its RECORD. */
function installed(t: TestContext, files: Files): { venv: string; packages: string; info: string } {
  const venv = join(mkdtempSync(join(tmpdir(), 'portolan-digest-')), 'venv')
  t.after(() => rmSync(dirname(venv), { recursive: true, force: true }))
  const packages = join(venv, 'lib', 'python3.11', 'site-packages')
  const record = Object.keys(files).map(
    name => `${/[",\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name},,\n`,
  )
  for (const [name, text] of Object.entries({ ...files, [`${INFO}/RECORD`]: record.join('') })) {
    const file = join(packages, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text.replaceAll('VENV', venv))
  }
  return { venv, packages, info: INFO }
}

const digestOf = async (t: TestContext, more: Files) =>
  (await takeDigest(installed(t, { ...WHEEL, ...more }))).integrity

test('scripts and data that a wheel installs outside of site-packages count', async t => {
  for (const name of ['../../../bin/tool', '../../../share/greeter.txt', 'greeter/sourceless.pyc']) {
    const one = await digestOf(t, { [name]: 'one' })
    assert.notEqual(one, await digestOf(t, {}), name)
    assert.notEqual(one, await digestOf(t, { [name]: 'two' }), name)
  }
})

test('what an installer writes differs between installers and folders, and does not count', async t => {
  const known = await digestOf(t, {})
  const script = { '../../../bin/greeter': '#!VENV/bin/python\nuv', '../../../bin/greeter-window': 'pip' }
  assert.equal(await digestOf(t, { ...script, [`${INFO}/INSTALLER`]: 'uv' }), known)
  const tool = { '../../../bin/tool': '#!VENV/bin/python3\nprint(1)' }
  assert.equal(await digestOf(t, tool), await digestOf(t, tool))
})

test('compiled modules beside their source do not count, and are deleted, because Python would run them unchecked', async t => {
  const place = installed(t, { ...WHEEL, [CACHED]: 'evil' })
  writeFileSync(join(place.packages, '__pycache__/unlisted.cpython-311.pyc'), 'evil')
  const { integrity, cleared } = await takeDigest(place)
  assert.equal(integrity, await digestOf(t, {}))
  assert.deepEqual(cleared, [place.packages, join(place.packages, INFO)])
  assert.equal(existsSync(join(place.packages, '__pycache__')), false)
})

test('a file outside of the virtual environment is neither read nor deleted', async t => {
  const name = '../../../../outside/file'
  assert.equal(await digestOf(t, { [name]: 'one' }), await digestOf(t, { [name]: 'two' }))
  const place = installed(t, { ...WHEEL, [name]: '', '../../../../outside/__pycache__/a.pyc': '' })
  await takeDigest(place)
  assert.ok(existsSync(join(place.packages, '../../../../outside/__pycache__/a.pyc')))
})

test('files whose names have commas, quotes or line breaks count, too', async t => {
  const known = await digestOf(t, {})
  for (const name of ['greeter.py,x.pth', 'greeter.py",x.pth', 'greeter.py\nx.pth']) {
    const one = await digestOf(t, { [name]: 'import one' })
    assert.notEqual(one, known, name)
    assert.notEqual(one, await digestOf(t, { [name]: 'import two' }), name)
  }
})

test('a listed file that cannot be read is an error, a listed folder is not', async t => {
  const place = installed(t, WHEEL)
  const record = join(place.packages, INFO, 'RECORD')
  appendFileSync(record, 'gone/__pycache__/a.pyc,,\ngreeter/,,\n')
  mkdirSync(join(place.packages, 'greeter'))
  await takeDigest(place)
  appendFileSync(record, 'gone.py,,\n')
  await assert.rejects(takeDigest(place), /^Fault: .*RECORD.* gone\.py, .*ENOENT/)
})

test('a RECORD that is missing or not CSV is an error', async t => {
  const place = installed(t, WHEEL)
  const record = join(place.packages, INFO, 'RECORD')
  appendFileSync(record, '"greeter.py"x.pth,,\n')
  await assert.rejects(takeDigest(place), /^Fault: .*RECORD.* not valid CSV/)
  rmSync(record)
  await assert.rejects(takeDigest(place), /ENOENT/)
})
