/** V8's settings for a gateway on a laptop, whose start people wait for. In containers they are options of Node's command line. */
import { flushCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { HEAP_OPTIONS, SERVING_OPTIONS } from './node-options.mjs'

/** V8's values without HEAP_OPTIONS. */
const DEFAULTS = ['--allocation-site-pretenuring', '--heap-growing-percent=0']

/**
 * Sets HEAP_OPTIONS. Call it when the modules are loaded, before catalogs are built. They are not on Node's command line, because V8
 * rejects code that was compiled with other flags: Node would compile its own modules at each start, for 0.2 s of CPU time.
 */
export function settleHeap(): void {
  for (const flag of HEAP_OPTIONS) setFlagsFromString(flag)
}

/**
 * Call it at the end of the start. Writes the compile cache with the default flags, since the next start reads it before `settleHeap`.
 * Then collects garbage, since V8 sizes the heap by the new flags only after a collection, and sets SERVING_OPTIONS.
 */
export function finishStart(): void {
  for (const flag of DEFAULTS) setFlagsFromString(flag)
  flushCompileCache()
  settleHeap()
  setFlagsFromString('--expose-gc')
  runInNewContext('gc()')
  // Otherwise the next thread would also compile Node's modules again.
  setFlagsFromString('--no-expose-gc')
  for (const flag of SERVING_OPTIONS) setFlagsFromString(flag)
}
