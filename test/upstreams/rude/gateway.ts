/**
 * A process with rude servers as children, for tests that kill it: `node gateway.ts MODE…` writes the pids of the children as one line
 * of JSON. It echoes its stdin, which shows that its event loop is running.
 */
import { systemClock } from '../../../core/async.ts'
import { startReaper } from '../../../core/mcp/client/stdio/reaper.ts'
import { createStdioUpstream } from '../../../core/mcp/client/stdio/stdio-upstream.ts'
import { rudeCommand, textOf, toolCall } from './rude.ts'

const reaper = startReaper()
const upstreams = process.argv
  .slice(2)
  .map(mode =>
    createStdioUpstream(
      { ...rudeCommand(mode), sessions: 'shared', startTimeoutMs: 20_000, idleAfterMs: 60_000, min: 1 },
      { clock: systemClock, reaper },
    ),
  )
const { signal } = new AbortController()
const answers = await Promise.all(upstreams.map(upstream => upstream.request(toolCall('pid'), signal)))
process.stdout.write(`${JSON.stringify(answers.map(answer => Number(textOf(answer))))}\n`)
process.stdin.pipe(process.stdout)
