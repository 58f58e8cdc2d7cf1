/** Runs a router as a process, as in a pod. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { delay, systemClock } from '../../core/async.ts'
import { freePort } from '../support/free-port.ts'

const MAIN = join(import.meta.dirname, '..', '..', 'router', 'main.ts')
const POLL_MS = 20
const READY_LIMIT_MS = 12_000

export type RouterProcess = {
  /** URL of the MCP endpoint. */
  url: string
  /** URL of the admin port. */
  admin: string
  env: Record<string, string>
  stderr(): string
  /** Sends a signal and resolves with the exit code, or null if the signal killed the process. */
  end(signal: NodeJS.Signals): Promise<number | null>
}

/** Resolves when /readyz answers 200; the process is killed after the test. `given` may contain the ports of an earlier process. */
export async function startRouterProcess(
  t: TestContext,
  given: Record<string, string>,
): Promise<RouterProcess> {
  const env = {
    PORTOLAN_HOST: '127.0.0.1',
    PORTOLAN_PORT: String(await freePort()),
    PORTOLAN_ADMIN_PORT: String(await freePort()),
    ...given,
  }
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH, ...env },
  })
  let stderr = ''
  child.stderr.on('data', chunk => {
    stderr += chunk
  })
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill(signal)
      await once(child, 'exit')
    }
    return child.exitCode
  }
  t.after(() => end('SIGKILL'))
  const admin = `http://127.0.0.1:${env.PORTOLAN_ADMIN_PORT}`
  const limit = performance.now() + READY_LIMIT_MS
  while (!(await fetch(`${admin}/readyz`).catch(() => undefined))?.ok) {
    if (child.exitCode !== null || performance.now() > limit) throw new Error(`no router:\n${stderr}`)
    await delay(systemClock, POLL_MS)
  }
  return { url: `http://127.0.0.1:${env.PORTOLAN_PORT}/mcp`, admin, env, stderr: () => stderr, end }
}
