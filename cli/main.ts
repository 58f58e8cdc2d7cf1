#!/usr/bin/env node
/** The command `portolan`: one command, then the end. */
import process from 'node:process'
import { runProgram } from './program.ts'

/** What is still open then, such as a child that ends slowly, keeps no finished command waiting. */
const LINGER_MS = 3_000

process.exitCode = await runProgram(process.argv.slice(2), process.env)
setTimeout(() => process.exit(), LINGER_MS).unref()
