/** Runs the commands of a task, one after another or concurrently. Plain JavaScript for Node 20. */
import { spawn } from 'node:child_process'
import { root } from './bootstrap.mjs'

/** Runs one command with the streams of this process. If it fails, this process exits with its code. */
export async function step({ title, command, args, env }) {
  const started = Date.now()
  process.stderr.write(`▸ ${title}\n`)
  const child = spawn(command, args, { cwd: root, env, stdio: 'inherit' })
  end(title, await exitCode(child), started)
}

/**
 * Runs commands concurrently. The output of each is printed when it has ended. If one fails, this process exits with its code after
 * all have ended.
 */
export async function stepsAtOnce(steps) {
  const started = Date.now()
  process.stderr.write(`▸ ${steps.map(({ title }) => title).join(', ')}\n`)
  const failed = []
  const run = async ({ title, command, args, env }) => {
    const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const output = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => output.push(chunk))
    const code = await exitCode(child)
    if (code !== 0) failed.push({ title, code })
    process.stdout.write(`${Buffer.concat(output)}${code === 0 ? '✓' : '✗'} ${title} ${seconds(started)} s\n`)
  }
  await Promise.all(steps.map(run))
  for (const { title, code } of failed) end(title, code, started)
}

/** Resolves when the process and its output streams have ended. */
function exitCode(child) {
  return new Promise((resolve, reject) => child.on('error', reject).on('close', code => resolve(code ?? 1)))
}

function end(title, code, started) {
  if (code !== 0) {
    process.stderr.write(`✗ ${title} failed (exit code ${code})\n`)
    process.exit(code)
  }
  process.stderr.write(`✓ ${title} ${seconds(started)} s\n`)
}

function seconds(since) {
  return ((Date.now() - since) / 1000).toFixed(1)
}
