/** Dot products of one int8 vector with many: by the WebAssembly kernels if these are available, otherwise in JavaScript. */
import { compileKernel, type Kernel, startKernel } from './kernel.ts'
import { planMemory } from './memory.ts'

export type Dots = {
  /** The `count · dimensions` components of all vectors, one vector after another. The caller fills it. */
  readonly memory: Int8Array
  /** The dot product of the query with each vector. The next call overwrites the returned array. */
  multiply(query: Int8Array): Int32Array
}

/** Allocates `count` zero vectors; the garbage collector frees them with the returned object. */
export type MakeDots = (count: number, dimensions: number) => Dots

/** Compiles the kernels once for all later calls of the returned function. Does not load the model. */
export function prepareDots(): MakeDots {
  const module = kernelModule()
  return (count, dimensions) =>
    (module && kernelDots(module, count, dimensions)) ?? plainDots(count, dimensions)
}

/** Undefined if the kernels are not built. */
function kernelModule(): WebAssembly.Module | undefined {
  try {
    return compileKernel()
  } catch {
    return undefined
  }
}

/** Undefined if the WebAssembly memory cannot be allocated. */
function kernelDots(module: WebAssembly.Module, count: number, dimensions: number): Dots | undefined {
  const plan = planMemory()
  const query = plan.reserve(dimensions)
  const documents = plan.reserve(count * dimensions)
  const products = plan.reserve(count * 4)
  let kernel: Kernel
  let memory: WebAssembly.Memory
  try {
    memory = plan.create()
    kernel = startKernel(module, memory)
  } catch {
    return undefined
  }
  const queryView = new Int8Array(memory.buffer, query, dimensions)
  const productsView = new Int32Array(memory.buffer, products, count)
  return {
    memory: new Int8Array(memory.buffer, documents, count * dimensions),
    multiply(values) {
      queryView.set(values)
      kernel.dots(query, documents, products, count, dimensions)
      return productsView
    },
  }
}

function plainDots(count: number, dimensions: number): Dots {
  const memory = new Int8Array(count * dimensions)
  const products = new Int32Array(count)
  return {
    memory,
    multiply(query) {
      for (let row = 0, start = 0; row < count; row++, start += dimensions) {
        let sum = 0
        for (let at = 0; at < dimensions; at++) sum += (memory[start + at] as number) * (query[at] as number)
        products[row] = sum
      }
      return products
    },
  }
}
