/** V8's settings for a gateway on a laptop, whose start people wait for. In containers they are options of Node's command line. */
import { flushCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { HEAP_OPTIONS } from './node-options.mjs'

/** What V8 has without HEAP_OPTIONS. */
const DEFAULTS = ['--allocation-site-pretenuring', '--heap-growing-percent=0']

/**
 * To be called when the modules are loaded, before catalogs are built. V8 rejects code that was compiled with other flags. So with
 * these flags on its command line, Node compiles its own modules at each start, for 0.2 s of CPU time.
 */
export function settleHeap(): void {
  for (const flag of HEAP_OPTIONS) setFlagsFromString(flag)
}

/**
 * To be called at the end of the start. Writes the compile cache, which the next start reads before `settleHeap`. Then collects what
 * the start has left, since V8 sizes the heap by the new flags only after a collection.
 */
export function finishStart(): void {
  for (const flag of DEFAULTS) setFlagsFromString(flag)
  flushCompileCache()
  settleHeap()
  setFlagsFromString('--expose-gc')
  runInNewContext('gc()')
  // Else the next thread would compile Node's modules again, too.
  setFlagsFromString('--no-expose-gc')
}
