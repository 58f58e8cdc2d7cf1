#!/usr/bin/env node
/** The command `portolan`: makes the clone ready, then runs cli/main.ts on Node 24. Plain JavaScript for Node 20. */
import { join } from 'node:path'
import { compiled, readyNode, root, runInPlace } from './bootstrap.mjs'

/**
 * What a gateway allocates dies within a call. V8 learns the opposite while catalogs are built, puts such objects among
 * the old ones from then on, and all that they name outlives its call: without pretenuring a call costs half the CPU.
 */
const V8_OPTIONS = [
  '--no-allocation-site-pretenuring',
  '--max-semi-space-size=8',
  '--heap-growing-percent=30',
]
/** One heap of glibc for all threads, given back when freed: with the default it holds 60 MB more (mallopt(3)). */
const MALLOC = { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '65536', MALLOC_MMAP_THRESHOLD_: '65536' }

const node = await readyNode()
process.exitCode = await runInPlace(
  node,
  [
    '--disable-warning=ExperimentalWarning',
    ...V8_OPTIONS,
    join(root, 'cli', 'main.ts'),
    ...process.argv.slice(2),
  ],
  { ...MALLOC, ...compiled(process.env) },
)
