/** The kernel's count of OOM kills. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { memoryKills } from './out-of-memory.ts'

test('OOM kills are read from cgroup v1 and v2; without a counter the result is 0', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-memory-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const files = { events: join(folder, 'memory.events'), control: join(folder, 'memory.oom_control') }
  assert.equal(await memoryKills(Object.values(files)), 0)
  writeFileSync(files.control, 'oom_kill_disable 0\nunder_oom 0\noom_kill 3\n')
  assert.equal(await memoryKills(Object.values(files)), 3)
  writeFileSync(files.events, 'low 0\nhigh 0\nmax 14\noom 2\noom_kill 2\noom_group_kill 0\n')
  assert.equal(await memoryKills(Object.values(files)), 2)
})
