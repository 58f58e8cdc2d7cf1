/** Entry point of the router program. */
import process from 'node:process'
import { runRouter } from './program.ts'

process.exitCode = await runRouter(process)
