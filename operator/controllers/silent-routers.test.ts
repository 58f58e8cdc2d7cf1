/** How often routers are asked that do not answer in time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { REPORT_LIMIT_MS } from './router-report.ts'
import { SilentRouters } from './silent-routers.ts'

const POLL_MS = 2_000

function start() {
  const clock = createManualClock()
  const routers = new SilentRouters({ clock, random: () => 1 })
  /** The times at which the router at the address was asked within the next minute, in seconds. */
  const polled = async (address: string, takesMs: number, answer?: string): Promise<number[]> => {
    const began = clock.now()
    const asked: number[] = []
    while (clock.now() - began < 60_000) {
      await routers.ask(address, async () => {
        asked.push((clock.now() - began) / 1_000)
        clock.advance(takesMs)
        return answer
      })
      clock.advance(POLL_MS)
    }
    return asked
  }
  return { polled, heard: (address: string) => routers.heard(address) }
}

test('a router that does not answer in time is asked less and less often, until it answers', async () => {
  const { polled } = start()
  assert.deepEqual(await polled('10.0.0.1', REPORT_LIMIT_MS), [0, 3, 8, 17, 34, 51])
  const again = await polled('10.0.0.1', 1, 'hello')
  assert.ok((again[0] ?? 0) <= 16)
  assert.ok(again.length > 20)
})

test('a router that refuses connections, and another one that answers, are asked at each poll', async () => {
  const { polled } = start()
  await polled('10.0.0.1', REPORT_LIMIT_MS)
  assert.equal((await polled('10.0.0.2', 0)).length, 30)
  assert.equal((await polled('10.0.0.3', 0, 'hello')).length, 30)
})

test('a router that has sent something is asked at the next poll', async () => {
  const { polled, heard } = start()
  await polled('10.0.0.1', REPORT_LIMIT_MS)
  heard('10.0.0.1')
  assert.equal((await polled('10.0.0.1', 1, 'hello'))[0], 0)
})
