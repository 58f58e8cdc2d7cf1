/** What we use of WebAssembly: the types of Node do not have it, and those of browsers bring too much along. */
declare namespace WebAssembly {
  class Memory {
    constructor(descriptor: { initial: number; maximum?: number })
    readonly buffer: ArrayBuffer
  }
  class Module {
    constructor(bytes: Uint8Array)
    static exports(module: Module): { name: string }[]
  }
  class Instance {
    constructor(module: Module, imports: { env: { memory: Memory } })
    readonly exports: unknown
  }
}
