/** The image's entrypoint: one command, then the end. */
import process from 'node:process'
import { runContainer } from './program.ts'

process.exitCode = await runContainer(process.argv.slice(2), process.env)
