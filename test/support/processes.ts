/** Starts Portolan and other scripts as processes, for end-to-end tests and benchmarks. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { delay, systemClock } from '../../core/async.ts'
import { freePort } from './free-port.ts'

const POLL_MS = 5
const STDERR_KEPT = 20_000
const READY_DEADLINE_MS = 120_000

export type Running = { pid: number; child: ChildProcess; stop(): Promise<void> }

/**
 * Starts a script with the Node that runs this process, and resolves with it and the first JSON line of its stdout. The script's
 * stdin is closed when this process ends, so that the script can end, too.
 */
export async function startScript<Ready>(
  args: string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Running & { ready: Ready }> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('{')) continue
    child.stdout.resume()
    return { pid: child.pid ?? 0, child, ready: JSON.parse(line) as Ready, stop: () => stop(child) }
  }
  throw new Error(`${args[0]} ended before it was ready`)
}

export type Gateway = Running & {
  url: string
  /** performance.now() when the process was started. */
  startedAt: number
  /** The last 20,000 characters of its stderr. */
  stderr(): string
}

/** Starts `portolan up` and resolves once /readyz answers 200. */
export async function startGateway(
  paths: string[],
  options: { cache: string; args?: string[]; env?: NodeJS.ProcessEnv },
): Promise<Gateway> {
  const port = await freePort()
  const args = ['up', ...paths, '--port', String(port), ...(options.args ?? [])]
  return startPortolan(args, port, options.cache, { PORTOLAN_CACHE: options.cache, ...options.env })
}

/** Starts `portolan bridge` for a command and resolves when its first child is ready. Its stderr is written to a file in `folder`. */
export async function startBridgeProcess(
  options: string[],
  { run, args }: { run: string; args: string[] },
  folder: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Gateway> {
  const port = await freePort()
  return startPortolan(['bridge', '--port', String(port), ...options, '--', run, ...args], port, folder, env)
}

async function startPortolan(
  args: string[],
  port: number,
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<Gateway> {
  // stderr goes to a file: reading a pipe would take CPU time of this process, which may be measuring.
  mkdirSync(folder, { recursive: true })
  const errorFile = join(folder, `stderr-${port}.log`)
  const errors = openSync(errorFile, 'w')
  const startedAt = performance.now()
  const child = spawn(process.execPath, ['scripts/portolan.mjs', ...args], {
    stdio: ['ignore', 'ignore', errors],
    // Without npm_command, the wrapper is replaced by the program (execve), so the pid is the gateway's.
    env: { ...process.env, npm_command: undefined, NO_COLOR: '1', ...env },
  })
  closeSync(errors)
  const stderr = () => readFileSync(errorFile, 'utf8').slice(-STDERR_KEPT)
  const url = `http://127.0.0.1:${port}`
  try {
    await untilReady(url, child, stderr)
  } catch (error) {
    child.kill()
    throw error
  }
  return { pid: child.pid ?? 0, child, url, startedAt, stderr, stop: () => stop(child) }
}

async function untilReady(url: string, child: ChildProcess, stderr: () => string): Promise<void> {
  const deadline = performance.now() + READY_DEADLINE_MS
  while (performance.now() < deadline) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`portolan ended:\n${stderr()}`)
    const answer = await fetch(`${url}/readyz`).catch(() => undefined)
    if (answer?.ok) return
    await delay(systemClock, POLL_MS)
  }
  throw new Error(`portolan was not ready in time:\n${stderr()}`)
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}
