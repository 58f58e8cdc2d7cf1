/** When a change of a folder is reported. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createManualClock } from '../test/support/manual-clock.ts'
import { until } from '../test/support/until.ts'
import { createDebounce, watchFolders } from './watch-folders.ts'

test('a burst of changes is reported once, 100 ms after its last change', () => {
  const clock = createManualClock()
  let reported = 0
  const debounce = createDebounce(clock, () => reported++)
  for (let at = 0; at < 3; at++) {
    debounce.changed()
    clock.advance(99)
  }
  assert.equal(reported, 0)
  clock.advance(1)
  assert.equal(reported, 1)
  debounce.changed()
  debounce.cancel()
  clock.advance(1_000)
  assert.deepEqual([reported, clock.pending()], [1, 0])
})

test('changes that follow each other without end are reported every second', () => {
  const clock = createManualClock()
  let reported = 0
  const debounce = createDebounce(clock, () => reported++)
  for (let at = 0; at < 61; at++) {
    debounce.changed()
    clock.advance(50)
  }
  assert.equal(reported, 3)
})

test('a folder that was moved away, or is added before it exists, is watched again once it is there', async t => {
  const root = mkdtempSync(join(tmpdir(), 'portolan-watch-'))
  const [folder, later, away] = [join(root, 'one'), join(root, 'none', 'later'), join(root, 'away')]
  mkdirSync(folder)
  const clock = createManualClock()
  let reported = 0
  const errors: unknown[] = []
  const concerns = (file: string) => file.endsWith('.yaml')
  const watcher = await watchFolders(
    {
      folders: [folder],
      depth: 0,
      concerns,
      onChange: () => reported++,
      onError: error => errors.push(error),
    },
    clock,
  )
  t.after(async () => {
    await watcher.stop()
    rmSync(root, { recursive: true })
  })
  const change = async (path: string) => {
    const before = reported
    await until(`a change of ${path}`, () => {
      writeFileSync(join(path, 'a.yaml'), String(performance.now()))
      clock.advance(2_000)
      return reported > before
    })
  }
  const searches = () => clock.started(2_000)
  await change(folder)
  assert.equal(searches(), 0)
  renameSync(folder, away)
  await until('a search', () => searches() > 0)
  renameSync(away, folder)
  await until('the folder', () => {
    clock.advance(2_000)
    return clock.pending() === 0
  })
  await change(folder)
  const earlier = searches()
  watcher.add([folder, later])
  await until('another search', () => searches() > earlier)
  mkdirSync(later, { recursive: true })
  await change(later)
  await until('the end of the search', () => clock.pending() === 0)
  await change(later)
  assert.deepEqual(errors, [])
})
