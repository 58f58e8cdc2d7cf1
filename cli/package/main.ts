#!/usr/bin/env node
/** The command of the npm package, which npm starts with plain `node`: gives Node its options, then runs the program. */
import module from 'node:module'
import { join } from 'node:path'
import process from 'node:process'
import { cacheFolder } from '../../local/config.ts'
import { MALLOC, NODE_OPTIONS } from '../node-options.mjs'

/** As in `engines` of package.json; npm only warns about an older Node. */
const OLDEST: readonly [major: number, minor: number] = [22, 19]

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
  process.stderr.write(`portolan needs Node ${OLDEST.join('.')} or newer; this is ${process.version}\n`)
  process.exit(1)
}
const compileCache = process.env.NODE_COMPILE_CACHE ?? join(cacheFolder(process.env), 'compiled')
if (process.platform !== 'win32' && process.execve && process.env.NODE_CHANNEL_FD === undefined) {
  const program = join(import.meta.dirname, 'portolan.js')
  const argv = [process.execPath, ...process.execArgv, ...NODE_OPTIONS, program, ...process.argv.slice(2)]
  process.execve(process.execPath, argv, { ...MALLOC, ...process.env, NODE_COMPILE_CACHE: compileCache })
}
// If the process cannot be replaced, the program runs in this one, with the options that it has.
module.enableCompileCache(compileCache)
await import('../main.ts')
