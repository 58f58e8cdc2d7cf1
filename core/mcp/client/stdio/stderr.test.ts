/** How fast the standard error of a child is read. */
import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { until } from '../../../../test/support/until.ts'
import { readStderr } from './stderr.ts'

test('a clock that was set back does not lengthen the pause of a child that writes too fast', async () => {
  const clock = createManualClock(10_000_000)
  const stream = new PassThrough()
  const logged: string[] = []
  readStderr(stream, { clock, secrets: [], log: line => logged.push(line) })
  stream.write('started\n')
  await until(() => logged.length === 1)
  clock.setBack(3_600_000)
  stream.write(Buffer.alloc(300 * 1024, 'x\n'))
  await until(() => stream.isPaused())
  clock.advance(250)
  assert.equal(stream.isPaused(), false)
})
