#!/usr/bin/env node
/** The command `portolan`: makes the clone ready, then runs cli/main.ts on Node 24. Plain JavaScript for Node 20. */
import { join } from 'node:path'
import { compiled, readyNode, root, runInPlace } from './bootstrap.mjs'

/** Young objects of a gateway die within a call: a small nursery keeps its memory down and its pauses short. */
const NODE_OPTIONS = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=4']
/** One heap of glibc for all threads, given back when freed: with the default it holds 60 MB more (mallopt(3)). */
const MALLOC = { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '65536', MALLOC_MMAP_THRESHOLD_: '65536' }

const node = await readyNode()
process.exitCode = await runInPlace(
  node,
  [...NODE_OPTIONS, join(root, 'cli', 'main.ts'), ...process.argv.slice(2)],
  { ...MALLOC, ...compiled(process.env) },
)
