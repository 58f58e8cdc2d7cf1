/** npm's postinstall script: links the command `portolan` into node_modules/.bin, where `npx portolan` finds it. */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const bin = join(dirname(dirname(fileURLToPath(import.meta.url))), 'node_modules', '.bin')
mkdirSync(bin, { recursive: true })
if (process.platform === 'win32') {
  writeFileSync(join(bin, 'portolan.cmd'), '@node "%~dp0\\..\\..\\scripts\\portolan.mjs" %*\r\n')
} else {
  rmSync(join(bin, 'portolan'), { force: true })
  symlinkSync(join('..', '..', 'scripts', 'portolan.mjs'), join(bin, 'portolan'))
}
