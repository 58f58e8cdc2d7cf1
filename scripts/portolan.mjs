#!/usr/bin/env node
/** The command `portolan`: makes the clone ready, then runs cli/main.ts on Node 24. Plain JavaScript for Node 20. */
import { join } from 'node:path'
import { readyNode, root, runWith } from './bootstrap.mjs'

const node = await readyNode()
process.exitCode = await runWith(node, [
  '--disable-warning=ExperimentalWarning',
  join(root, 'cli', 'main.ts'),
  ...process.argv.slice(2),
])
