/** How much memory is kept. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** The bytes of the heap by which `run` makes it grow for good. Nothing that `run` keeps may be garbage when it ends. */
export function grownBytes(run: () => void): number {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const used = () => {
    collectGarbage()
    return process.memoryUsage().heapUsed
  }
  const before = used()
  run()
  return used() - before
}

/** A text of a million characters, as from a request, that begins with the number. */
export function longText(number: number): string {
  return JSON.parse(`"${number} ${'é long text '.repeat(90_000)}"`) as string
}
