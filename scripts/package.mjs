/**
 * Prepares `npm pack`: builds the bundle, and replaces the clone's package.json and README.md by those of the npm package while npm
 * packs. npm runs `package.mjs prepack`, then `package.mjs postpack`. Plain JavaScript for Node 20.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readyNode, root } from './bootstrap.mjs'
import { replaceFiles, restoreFiles } from './replaced-files.mjs'

const REPLACED = ['package.json', 'README.md']
/** Where the clone's files are kept while npm packs. */
const aside = join(root, '.portolan', 'pack')
const kept = join(root, '.portolan', 'pack-kept')

const steps = {
  async prepack() {
    const node = await readyNode()
    restore()
    execFileSync(node, ['--disable-warning=ExperimentalWarning', join(root, 'scripts', 'bundle.ts')])
    replaceFiles(root, aside, {
      'package.json': `${JSON.stringify(manifest(), null, 2)}\n`,
      'README.md': readFileSync(join(root, 'docs', 'npm.md'), 'utf8'),
    })
  },
  postpack: restore,
}

/** Restores the clone's files, also after an interrupted `npm pack`. */
function restore() {
  for (const file of restoreFiles(root, aside, REPLACED, kept))
    process.stderr.write(
      `portolan: ${file} has changed since an interrupted npm pack, so it stays; what it was before is in .portolan/pack-kept/\n`,
    )
}

function manifest() {
  const { name, version, description, keywords, license } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  )
  return {
    ...{ name, version, description, keywords, license },
    type: 'module',
    bin: { portolan: 'dist/command.js' },
    // The package is a command, not a library.
    exports: { './package.json': './package.json' },
    files: ['dist', '!dist/bridge.cjs'],
    engines: { node: '>=22.19' },
  }
}

const step = steps[process.argv[2]]
if (!step) throw new Error('usage: node scripts/package.mjs prepack|postpack, as npm pack runs it')
await step()
