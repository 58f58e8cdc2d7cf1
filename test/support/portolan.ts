/** The command `portolan` as a process, from the checkout's sources. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { type Ran, run } from './run.ts'

const MAIN = join(import.meta.dirname, '..', '..', 'cli', 'main.ts')
const NODE = ['--disable-warning=ExperimentalWarning', MAIN]

/** Starts the command; `env` is added to this process's environment. */
export function startPortolan(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): ChildProcessByStdio<null, Readable, Readable> {
  return spawn(process.execPath, [...NODE, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** Runs the command until it ends; `env` is added to this process's environment. */
export function runPortolan(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> {
  return run(process.execPath, [...NODE, ...args], { env: { ...process.env, ...env } })
}
