/** A WebAssembly memory whose parts are planned first and then made at once. */
import { aligned } from './minilm.ts'

const PAGE_BYTES = 65_536
/** What the compiler itself may use is below. */
const FIRST_PLACE = 1_024

export type MemoryPlan = {
  /** Room for so many bytes; returns its place. */
  room(bytes: number): number
  /** Just large enough for all; it never grows, so that views of it stay valid. */
  create(): WebAssembly.Memory
}

export function planMemory(): MemoryPlan {
  let end = FIRST_PLACE
  return {
    room(bytes) {
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
