/**
 * What `npm pack` puts into the npm package: the bundle, and a manifest and README of its own, which stand in the place of the
 * clone's while npm packs. `package.mjs prepack`, then `package.mjs postpack`. Plain JavaScript for Node 20.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readyNode, root } from './bootstrap.mjs'

const REPLACED = ['package.json', 'README.md']
/** The clone's own files, while others stand in their place. */
const aside = join(root, '.portolan', 'pack')

const steps = {
  async prepack() {
    const node = await readyNode()
    putBack()
    execFileSync(node, ['--disable-warning=ExperimentalWarning', join(root, 'scripts', 'bundle.ts')])
    mkdirSync(aside, { recursive: true })
    for (const file of REPLACED) copyFileSync(join(root, file), join(aside, file))
    writeFileSync(join(root, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`)
    copyFileSync(join(root, 'docs', 'npm.md'), join(root, 'README.md'))
  },
  postpack: putBack,
}

/** Also what an interrupted `npm pack` left. */
function putBack() {
  for (const file of REPLACED)
    if (existsSync(join(aside, file))) renameSync(join(aside, file), join(root, file))
  rmSync(aside, { recursive: true, force: true })
}

function manifest() {
  const { name, version, description, keywords, license } = JSON.parse(
    readFileSync(join(aside, 'package.json'), 'utf8'),
  )
  return {
    ...{ name, version, description, keywords, license },
    type: 'module',
    bin: { portolan: 'dist/command.js' },
    // a command, not a library
    exports: { './package.json': './package.json' },
    files: ['dist', '!dist/bridge.cjs'],
    engines: { node: '>=22.19' },
  }
}

const step = steps[process.argv[2]]
if (!step) throw new Error('usage: node scripts/package.mjs prepack|postpack, as npm pack runs it')
await step()
