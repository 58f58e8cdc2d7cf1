#!/usr/bin/env node
/** The command `portolan`: one command, then the end. */
import process from 'node:process'
import { runProgram } from './program.ts'

/** Handles that are still open after a command, such as a child that ends slowly, do not delay the exit any further. */
const LINGER_MS = 3_000
const PARENT_CHECK_MS = 500

if (process.env.npm_command !== undefined) endWithParent()
process.exitCode = await runProgram(process.argv.slice(2), process.env)
setTimeout(() => process.exit(), LINGER_MS).unref()

/** If npm is terminated, it ends only the shell between it and this process. */
function endWithParent(): void {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, PARENT_CHECK_MS)
  timer.unref()
}
