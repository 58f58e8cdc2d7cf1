/** A WebAssembly memory of fixed size: all areas are planned before it is allocated. */
import { aligned } from './minilm.ts'

const PAGE_BYTES = 65_536
/** Addresses below are reserved for the compiler. */
const FIRST_PLACE = 1_024

export type MemoryPlan = {
  /** Reserves an area of `bytes` bytes; returns its address. */
  reserve(bytes: number): number
  /** Allocates a memory for all areas. It never grows, so views of it stay valid. */
  create(): WebAssembly.Memory
}

export function planMemory(): MemoryPlan {
  let end = FIRST_PLACE
  return {
    reserve(bytes) {
      const place = end
      end = aligned(end + bytes)
      return place
    },
    create() {
      const pages = Math.ceil(end / PAGE_BYTES)
      return new WebAssembly.Memory({ initial: pages, maximum: pages })
    },
  }
}
