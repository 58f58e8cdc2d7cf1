/** The part of the WebAssembly API that we use: Node's types lack it, and the `dom` library would add too many other types. */
declare namespace WebAssembly {
  class Memory {
    constructor(descriptor: { initial: number; maximum?: number })
    readonly buffer: ArrayBuffer
  }
  class Module {
    constructor(bytes: Uint8Array)
    static exports(module: Module): { name: string }[]
  }
  /** Compiles on other threads. */
  function compile(bytes: Uint8Array): Promise<Module>
  class Instance {
    constructor(module: Module, imports: { env: { memory: Memory } })
    readonly exports: unknown
  }
}
