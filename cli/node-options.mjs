/** How Node is started for a gateway: by a clone, the npm package and the image. Plain JavaScript for Node 20. */

/**
 * What a gateway allocates dies within a call. V8 learns the opposite while catalogs are built, puts such objects among
 * the old ones from then on, and all that they name outlives its call: without pretenuring a call costs half the CPU.
 */
export const NODE_OPTIONS = [
  '--disable-warning=ExperimentalWarning',
  '--no-allocation-site-pretenuring',
  '--max-semi-space-size=16',
  '--heap-growing-percent=30',
]

/** One heap of glibc for all threads, given back when freed: with the default it holds 60 MB more (mallopt(3)). */
export const MALLOC = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_TRIM_THRESHOLD_: '65536',
  MALLOC_MMAP_THRESHOLD_: '65536',
}
