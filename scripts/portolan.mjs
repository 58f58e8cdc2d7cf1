#!/usr/bin/env node
/** The command `portolan`: makes the clone ready, then runs cli/main.ts on Node 24. Plain JavaScript for Node 20. */
import { join } from 'node:path'
import { compiled, readyNode, root, runInPlace } from './bootstrap.mjs'
import { MALLOC, NODE_OPTIONS } from './node-options.mjs'

const node = await readyNode()
process.exitCode = await runInPlace(
  node,
  [...NODE_OPTIONS, join(root, 'cli', 'main.ts'), ...process.argv.slice(2)],
  { ...MALLOC, ...compiled(process.env) },
)
