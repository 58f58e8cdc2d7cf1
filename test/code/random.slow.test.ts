/** Random programs have the same results in the sandbox as in Node, and many runs leak no memory. The variables RUNS and SOAK set how many. */
import assert from 'node:assert/strict'
import process from 'node:process'
import { after, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { systemClock } from '../../core/async.ts'
import type { SandboxReply, SandboxRequest } from '../../router/code/sandbox-messages.ts'
import { createSandboxThreads, type SandboxReport } from '../../router/code/sandbox-threads.ts'
import { program, type Result, reference, stubTool } from './random-programs.ts'

const RUNS = Number(process.env.RUNS ?? 1_000)
const SOAK = Number(process.env.SOAK ?? 200)
const SOAK_LIMIT_MS = 300_000 + 200 * SOAK
const WARM_UP = 100
const TENTHS = 10
const MAX_GROWTH_MI = 1
const MI = 1024 * 1024
const LIMITS = {
  sandboxMs: 2_000,
  memoryBytes: 32 * MI,
  calls: 1_000,
  argumentBytes: MI,
  resultBytes: 4 * MI,
  logCharacters: 16_384,
}
const sandboxes = createSandboxThreads(systemClock)
after(() => sandboxes.close())

function run(source: string): Promise<SandboxReport> {
  return sandboxes.run({ source, limits: LIMITS, signal: new AbortController().signal, answer })
}

async function answer({ path, args }: SandboxRequest): Promise<SandboxReply> {
  const tool = path.split(':')[1] ?? ''
  try {
    return { isValue: true, json: JSON.stringify(stubTool(tool, JSON.parse(args))) }
  } catch (error) {
    const { message } = error as Error
    return { isValue: false, json: JSON.stringify({ message, tool: path, kind: 'tool_error' }) }
  }
}

function resultOf({ outcome }: SandboxReport): Result {
  if (outcome.kind === 'returned') return { json: outcome.json }
  return { failed: outcome.kind === 'threw' ? outcome.error.name : outcome.kind }
}

test(`${RUNS} random programs end as in Node: the same value, or the same kind of error`, async () => {
  const property = fc.asyncProperty(program, async source => {
    const [expected, report] = await Promise.all([reference(source), run(source)])
    assert.deepEqual(resultOf(report), expected, source)
  })
  await fc.assert(property, { numRuns: RUNS, seed: 42 })
})

test(`the heap grows by less than ${MAX_GROWTH_MI} MiB in ${SOAK} runs`, {
  timeout: SOAK_LIMIT_MS,
}, async t => {
  const sources = [
    'const rows = await Promise.all([1, 2, 3].map(n => tools.stub.double({n}))); return rows.length',
    'return "x".repeat(1e6).length',
    'throw new Error("no")',
    'const a = []; for (let i = 0; i < 1e4; i++) a.push({i}); return a.length',
  ]
  const runAll = async (count: number) => {
    for (let at = 0; at < count; at++) await run(sources[at % sources.length] as string)
  }
  // Enough that each thread was replaced once and the code is compiled.
  await runAll(WARM_UP)
  const samples = [await memory()]
  for (let tenth = 0; tenth < TENTHS; tenth++) {
    await runAll(Math.ceil(SOAK / TENTHS))
    samples.push(await memory())
  }
  for (const kind of ['heapMi', 'residentMi'] as const)
    t.diagnostic(`${kind}: ${samples.map(sample => sample[kind].toFixed(1)).join(', ')}`)
  const [first, last] = [samples[0], samples.at(-1)]
  assert.ok(first && last && last.heapMi - first.heapMi < MAX_GROWTH_MI, JSON.stringify(samples))
})

/** The memory that is in use after garbage collection. */
async function memory(): Promise<{ heapMi: number; residentMi: number }> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  for (let times = 0; times < 2; times++) {
    collect()
    await new Promise(resolve => setImmediate(resolve))
  }
  const { heapUsed, rss } = process.memoryUsage()
  return { heapMi: heapUsed / MI, residentMi: rss / MI }
}
