/** Copies the sources of this checkout into a folder, with links to its packages, for tests that build there. */
import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')
const COPIED = [
  ...['crds', 'core', 'operator', 'router', 'bridge', 'local', 'cli', 'console', 'scripts'],
  ...['package.json', 'package-lock.json', 'README.md', 'LICENSE', 'docs/npm.md'],
  'node_modules/.package-lock.json',
]

export function cloneTo(folder: string): void {
  for (const path of COPIED) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    cpSync(join(root, path), join(folder, path), { recursive: true })
  }
  for (const name of readdirSync(join(root, 'node_modules')).filter(name => !name.startsWith('.')))
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
}
