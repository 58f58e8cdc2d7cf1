/** Runs the operator in this process. */
import process from 'node:process'
import { runOperator } from './program.ts'

process.exitCode = await runOperator(process)
