#!/usr/bin/env node
/** The command `portolan`, on Node 24; scripts/portolan.mjs is how it is started. */
import process from 'node:process'
import { runProgram } from './program.ts'

process.exitCode = await runProgram(process)
