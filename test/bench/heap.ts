/** Reads the memory of another Node process after a full garbage collection, through its inspector. */

export type Memory = { heapMegabytes: number; residentMegabytes: number }

export type Heap = { memory(): Promise<Memory>; close(): void }

type Reply = { id?: number; result?: { result?: { value?: unknown } }; error?: { message: string } }

const MEGABYTE = 1024 * 1024

/** Opens the inspector of a process that was started with `--inspect-port=port`. */
export async function openHeap(pid: number, port: number): Promise<Heap> {
  process.kill(pid, 'SIGUSR1')
  const socket = new WebSocket(await inspectorOf(port))
  const waiting = new Map<number, PromiseWithResolvers<Reply>>()
  socket.addEventListener('message', ({ data }) => {
    const reply = JSON.parse(String(data)) as Reply
    if (reply.id !== undefined) waiting.get(reply.id)?.resolve(reply)
  })
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', () => reject(new Error('cannot connect to the inspector')))
  })
  let last = 0
  const ask = async (method: string, params: object = {}): Promise<unknown> => {
    const id = ++last
    const answer = Promise.withResolvers<Reply>()
    waiting.set(id, answer)
    socket.send(JSON.stringify({ id, method, params }))
    const { result, error } = await answer.promise
    waiting.delete(id)
    if (error) throw new Error(`${method}: ${error.message}`)
    return result?.result?.value
  }
  return {
    async memory() {
      await ask('HeapProfiler.collectGarbage')
      const expression = 'JSON.stringify(process.memoryUsage())'
      const usage = JSON.parse(String(await ask('Runtime.evaluate', { expression, returnByValue: true })))
      return { heapMegabytes: usage.heapUsed / MEGABYTE, residentMegabytes: usage.rss / MEGABYTE }
    },
    close: () => socket.close(),
  }
}

async function inspectorOf(port: number): Promise<string> {
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/json/list`).catch(() => undefined)
    const [found] = answer ? ((await answer.json()) as { webSocketDebuggerUrl?: string }[]) : []
    if (found?.webSocketDebuggerUrl) return found.webSocketDebuggerUrl
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
