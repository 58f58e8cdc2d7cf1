/** How tests are run: fast ones with an empty cache and home, and a list of what was skipped at the end. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { run } from '../support/run.ts'

const RUNS = new URL('../../scripts/test-runs.mjs', import.meta.url)

/** Runs test files with these texts as the project's tasks do; returns the summary that is written at the end. */
async function summaryOf(t: TestContext, texts: Readonly<Record<string, string>>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-runs-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const files = Object.keys(texts).map(name => join(folder, name))
  for (const [name, text] of Object.entries(texts))
    writeFileSync(join(folder, name), `import { test } from 'node:test'\n${text}`)
  const script = `
    import { spawnSync } from 'node:child_process'
    import { runsFolder, testArgs, withNothing } from '${RUNS}'
    const folder = runsFolder()()
    const { NODE_TEST_CONTEXT, ...env } = withNothing(process.env, folder)
    for (const [at, file] of ${JSON.stringify(files)}.entries())
      spawnSync(process.execPath, testArgs([file], { folder, title: String(at), shared: at % 2 === 0 }), { env })`
  const { code, stdout, stderr } = await run(process.execPath, ['--input-type=module', '--eval', script])
  assert.equal(code, 0, stderr)
  return stdout.replaceAll(/^ {2}\S*\//gm, '  ')
}

test('skipped tests are listed by reason with their files, and all outcomes are summed', async t => {
  const skipped = "test('a', { skip: 'no helm' }, () => {})\ntest('b', { skip: 'no helm' }, () => {})\n"
  const summary = await summaryOf(t, {
    'one.test.mjs': `${skipped}test('c', () => {})`,
    'two.test.mjs': `${skipped}test('d', t => t.skip('no cluster'))`,
    'three.test.mjs': "test('e', () => { throw new Error('wrong') })\ntest('f', () => {})",
  })
  assert.equal(
    summary,
    [
      'skipped: no helm',
      '  one.test.mjs (2)',
      '  two.test.mjs (2)',
      'skipped: no cluster',
      '  two.test.mjs (1)',
      '2 passed, 1 failed, 5 skipped\n',
    ].join('\n'),
  )
})

test('a run that is killed before it writes its totals counts as a failure', async t => {
  const summary = await summaryOf(t, {
    'gone.test.mjs': "test('a', () => process.kill(process.pid, 'SIGKILL'))",
  })
  assert.equal(summary, '0 passed, 1 failed, 0 skipped\n')
})

test('a fast test gets an empty cache and an empty home directory', async t => {
  const empty = `
    import { readdirSync } from 'node:fs'
    test('a', () => {
      const { HOME, PORTOLAN_CACHE, PORTOLAN_MODEL, XDG_CACHE_HOME } = process.env
      if (PORTOLAN_MODEL || XDG_CACHE_HOME) throw new Error('the cache of this machine')
      for (const folder of [HOME, PORTOLAN_CACHE]) if (readdirSync(folder).length > 0) throw new Error(folder)
    })`
  assert.equal(await summaryOf(t, { 'empty.test.mjs': empty }), '1 passed, 0 failed, 0 skipped\n')
})
