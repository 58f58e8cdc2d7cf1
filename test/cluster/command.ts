/** Runs one command to its end. */
import { spawn } from 'node:child_process'

export type CommandOptions = {
  /** Written to its stdin. */
  input?: string
  cwd?: string
  /** Overrides this process's environment. */
  env?: NodeJS.ProcessEnv
  /** Called with each piece of stderr, besides keeping it for the error. */
  onStderr?(text: string): void
  signal?: AbortSignal
}

/** Resolves with stdout; throws with the end of stderr where the exit code is not 0. */
export async function run(command: readonly string[], options: CommandOptions = {}): Promise<string> {
  const [file = '', ...args] = command
  const child = spawn(file, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    signal: options.signal,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', text => {
    output.stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    output.stderr += text
    options.onStderr?.(text)
  })
  child.stdin.on('error', () => {}) // it may end without reading
  child.stdin.end(options.input ?? '')
  const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve))
  if (code !== 0) throw new Error(`${command.join(' ')} failed (${code}):\n${output.stderr.slice(-4_000)}`)
  return output.stdout
}
