/** Runs a program and collects its output. */
import { spawn } from 'node:child_process'

export type Ran = { code: number; stdout: string; stderr: string }

export type RunOptions = {
  cwd?: string
  env?: NodeJS.ProcessEnv
  limitMs?: number
  /** Ends the program; the run rejects with an AbortError that has the signal's reason as its cause. */
  signal?: AbortSignal
  /** Called with all that was written to standard error so far, whenever there is more. */
  onStderr?: (stderr: string) => void
}

/** Resolves with the exit code (1 if a signal ended it) and the output. After `limitMs` the program is killed. */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { limitMs, onStderr, ...rest } = options
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...rest, stdio: ['ignore', 'pipe', 'pipe'] })
    const limit = limitMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), limitMs)
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', chunk => {
      stdout += chunk
    })
    child.stderr.on('data', chunk => {
      stderr += chunk
      onStderr?.(stderr)
    })
    child.on('error', reject)
    child.on('close', code => {
      clearTimeout(limit)
      resolve({ code: code ?? 1, stdout, stderr })
    })
  })
}
