#!/usr/bin/env node
/** The program `portolan`: runs one command, then exits. */
import process from 'node:process'
import { runProgram } from './program.ts'

/** How long open handles, such as a child that ends slowly, may delay the exit after the command. */
const LINGER_MS = 3_000
const PARENT_CHECK_MS = 500

if (process.env.npm_command !== undefined) endWithParent()
process.exitCode = await runProgram(process.argv.slice(2), process.env)
setTimeout(() => process.exit(), LINGER_MS).unref()

/** Ends this process when its parent is gone: if npm is terminated, it ends only the shell that it started, not this process. */
function endWithParent(): void {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, PARENT_CHECK_MS)
  timer.unref()
}
