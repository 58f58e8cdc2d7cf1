/** Loads the WebAssembly kernels (number-crunching functions), which the build compiles from the sources in kernel/. */
import { readFileSync } from 'node:fs'
import { Fault } from '../errors.ts'

/** An address in the memory of the kernels, in bytes. */
export type Place = number

/** The functions are documented in kernel/. */
export type Kernel = {
  quantize(rows: number, columns: number, values: Place, quantized: Place, scales: Place): void
  multiply(
    rows: number,
    columns: number,
    outputs: number,
    input: Place,
    inputScales: Place,
    weights: Place,
    weightScales: Place,
    bias: Place,
    output: Place,
    add: 0 | 1,
  ): void
  normalize(rows: number, columns: number, values: Place, gain: Place, bias: Place): void
  gelu(count: number, values: Place, table: Place): void
  attend(rows: number, columns: number, joined: Place, context: Place, scores: Place): void
  dots(query: Place, documents: Place, products: Place, count: number, dimensions: number): void
}

/** Throws Fault `io` if the kernels are not built, or the machine cannot run them. */
export function loadKernel(memory: WebAssembly.Memory): Kernel {
  return startKernel(compileKernel(), memory)
}

/** Reads and compiles the kernels; the module can be started with any number of memories. Throws as loadKernel does. */
export function compileKernel(): WebAssembly.Module {
  return orFault(() => new WebAssembly.Module(readFileSync(new URL('./kernel.wasm', import.meta.url))))
}

/** Throws as loadKernel does. */
export function startKernel(module: WebAssembly.Module, memory: WebAssembly.Memory): Kernel {
  return orFault(() => new WebAssembly.Instance(module, { env: { memory } }).exports as Kernel)
}

function orFault<T>(work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw new Fault('io', 'The kernels of the sentence encoder are not there: run `npm run build`', { cause })
  }
}
