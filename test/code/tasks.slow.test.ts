/** What tasks of agents cost with and without code mode: the claims of docs/bench-code.md, measured. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TASKS } from '../bench/task-scripts.ts'
import { measureTasks } from '../bench/tasks.ts'

test('code mode costs less than meta-tools for most tasks, but more than the direct call for a task of one call', async t => {
  const { measured } = await measureTasks(TASKS)
  for (const { task, costs } of measured) {
    const { direct, alone, hierarchical, code } = costs
    t.diagnostic(
      `${task.id}: ${direct.billed}, ${alone.billed}, ${hierarchical.billed}, ${code.billed} billed`,
    )
    assert.ok(hierarchical.entered < direct.entered, task.id)
    switch (task.id) {
      case 'T1':
      case 'T2':
      case 'T3':
      case 'T9':
        assert.ok(code.billed < hierarchical.billed / 3, task.id)
        break
      case 'T7':
        assert.ok(code.billed > alone.billed, task.id)
        break
      case 'T8':
        assert.ok(code.entered > 0.75 * alone.entered, task.id)
        break
      default:
        assert.ok(code.billed < hierarchical.billed, task.id)
    }
  }
})
