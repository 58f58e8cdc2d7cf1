/** Dot products of one int8 vector with many: by the kernels where they are, else in plain JavaScript. */
import { compileKernel, type Kernel, startKernel } from './kernel.ts'
import { planMemory } from './memory.ts'

export type Dots = {
  /** `count · dimensions` components, vector after vector: to be filled by the caller. */
  readonly memory: Int8Array
  /** The dot product of the query with each vector. A view: the next query overwrites it. */
  multiply(query: Int8Array): Int32Array
}

/** Makes room for `count` vectors, all zero. What it takes is freed with the object. */
export type MakeDots = (count: number, dimensions: number) => Dots

/** Reads the kernels once, for all tables to come; no model is loaded. */
export function prepareDots(): MakeDots {
  const module = kernelModule()
  return (count, dimensions) =>
    (module && kernelDots(module, count, dimensions)) ?? plainDots(count, dimensions)
}

/** Undefined where the kernels are not built. */
function kernelModule(): WebAssembly.Module | undefined {
  try {
    return compileKernel()
  } catch {
    return undefined
  }
}

/** Undefined where there is no memory of their kind. */
function kernelDots(module: WebAssembly.Module, count: number, dimensions: number): Dots | undefined {
  const plan = planMemory()
  const query = plan.room(dimensions)
  const documents = plan.room(count * dimensions)
  const products = plan.room(count * 4)
  let kernel: Kernel
  let memory: WebAssembly.Memory
  try {
    memory = plan.create()
    kernel = startKernel(module, memory)
  } catch {
    return undefined
  }
  const given = new Int8Array(memory.buffer, query, dimensions)
  const found = new Int32Array(memory.buffer, products, count)
  return {
    memory: new Int8Array(memory.buffer, documents, count * dimensions),
    multiply(values) {
      given.set(values)
      kernel.dots(query, documents, products, count, dimensions)
      return found
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
