/** The options with which a clone, the npm package and the image start Node for a gateway. Plain JavaScript, since Node 20 reads it too. */

/**
 * Calls allocate many objects that live shortly. With 16 MB instead of 8 for such objects, a call takes 14 % less CPU time. The chart starts
 * operators, which answer no calls, with 4 MB: V8 keeps twice what it once needed.
 */
export const NODE_OPTIONS = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=16']

/**
 * Turns off pretenuring. While catalogs are built, V8 would learn that new objects live long. It would then put the objects of calls, and
 * everything that they refer to, among the old objects, and a call would take twice the CPU time. On a laptop, cli/heap.ts sets these options.
 */
export const HEAP_OPTIONS = ['--no-allocation-site-pretenuring', '--heap-growing-percent=30']

/**
 * The main thread collects short-lived objects alone, in half a millisecond. With helping threads it waits for them, and on busy cores, for
 * example while tools are encoded, some collections then take 5 to 70 ms, during which no call is answered. On a laptop, cli/heap.ts sets
 * this after the start, during which many objects are kept and helping threads save time.
 */
export const SERVING_OPTIONS = ['--no-parallel-scavenge']

/** glibc uses one heap for all threads, and returns freed memory to the system; by default it keeps 60 MB more (mallopt(3)). */
export const MALLOC = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_TRIM_THRESHOLD_: '65536',
  MALLOC_MMAP_THRESHOLD_: '65536',
}
