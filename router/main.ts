/** Runs a router as its environment says. */
import process from 'node:process'
import { runRouter } from './program.ts'

process.exitCode = await runRouter(process)
