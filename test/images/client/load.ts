/** A steady load of tool calls with unique arguments, so that each answer can be checked: right, wrong or an error. */
import type { JsonObject } from '../../../core/json.ts'
import { MCP_HEADERS, requestBody } from '../../support/mcp.ts'

const MAX_REPORTED = 5_000

export type LoadOptions = {
  url: string
  headers: Record<string, string>
  tool: string
  /** The arguments as JSON; `$N` is replaced by the number of the call. */
  args: string
  /** The text that a right answer contains, with `$N` as in `args`. */
  expect: string
  perSecond: number
  timeoutMs: number
}

/** Times are in milliseconds; `at` is relative to the first call. */
export type LoadReport = {
  /** The time of the first call, in milliseconds since the epoch. */
  startedAt: number
  lastedMs: number
  sent: number
  right: number
  /** Answers that belong to another call or have other content; each is a bug. */
  wrong: number
  /** Calls without an answer, or with an error. */
  failed: number
  latencyMs: { p50: number; p95: number; p99: number; max: number }
  /** The longest time without a right answer, and its start. */
  longestGap: { at: number; ms: number }
  /** The first wrong and failed calls. */
  unexpected: { at: number; ms: number; kind: 'wrong' | 'failed'; message: string }[]
}

type Answered = { at: number; ms: number; kind: 'right' | 'wrong' | 'failed'; message: string }

export function startLoad(options: LoadOptions): { stop(): Promise<LoadReport> } {
  const begin = performance.now()
  const startedAt = Date.now()
  const answered: Answered[] = []
  const inFlight = new Set<Promise<void>>()
  let sent = 0
  const send = () => {
    const at = performance.now() - begin
    const call = callOnce(options, ++sent)
      .then(answer => void answered.push({ at, ms: performance.now() - begin - at, ...answer }))
      .finally(() => inFlight.delete(call))
    inFlight.add(call)
  }
  // After a timer that fires late, the missed calls are sent, so that the average rate is constant.
  const timer = setInterval(() => {
    const due = ((performance.now() - begin) / 1_000) * options.perSecond
    while (sent < due) send()
  }, 5)
  return {
    async stop() {
      clearInterval(timer)
      const lastedMs = performance.now() - begin
      await Promise.all(inFlight)
      return { startedAt, lastedMs: Math.round(lastedMs), sent, ...summary(answered, lastedMs) }
    },
  }
}

async function callOnce(options: LoadOptions, number: number): Promise<Pick<Answered, 'kind' | 'message'>> {
  const text = (template: string) => template.replaceAll('$N', String(number))
  const params = { name: options.tool, arguments: JSON.parse(text(options.args)) as JsonObject }
  try {
    const response = await fetch(options.url, {
      method: 'POST',
      headers: { ...MCP_HEADERS, ...options.headers },
      body: requestBody('tools/call', params, number),
      signal: AbortSignal.timeout(options.timeoutMs),
    })
    return judge(await response.text(), response.status, number, text(options.expect))
  } catch (error) {
    const { message, cause } = error as Error & { cause?: { code?: string } }
    return { kind: 'failed', message: [message, cause?.code].filter(Boolean).join(': ') }
  }
}

function judge(
  body: string,
  status: number,
  number: number,
  expected: string,
): Pick<Answered, 'kind' | 'message'> {
  const json = body.startsWith('{') ? body : (/^data: (\{.*)$/m.exec(body)?.[1] ?? '')
  const failed = { kind: 'failed', message: `HTTP ${status} ${body.slice(0, 300)}` } as const
  if (status !== 200 || json === '') return failed
  const { id, result, error } = JSON.parse(json) as { id?: unknown; result?: JsonObject; error?: unknown }
  if (id !== number) return { kind: 'wrong', message: `call ${number} was answered as ${id}` }
  if (error || result?.isError) return failed
  const content = JSON.stringify(result?.content)
  if (content.includes(expected)) return { kind: 'right', message: '' }
  return { kind: 'wrong', message: `no ${expected} in ${content.slice(0, 300)}` }
}

function summary(
  answered: readonly Answered[],
  lastedMs: number,
): Omit<LoadReport, 'startedAt' | 'lastedMs' | 'sent'> {
  const of = (kind: Answered['kind']) => answered.filter(answer => answer.kind === kind)
  const right = of('right')
  const times = right.map(({ ms }) => ms).sort((one, other) => one - other)
  const share = (part: number) =>
    round(times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0)
  const unexpected = answered.flatMap(({ kind, at, ms, message }) =>
    kind === 'right' ? [] : [{ at: round(at), ms: round(ms), kind, message }],
  )
  return {
    right: right.length,
    wrong: of('wrong').length,
    failed: of('failed').length,
    latencyMs: { p50: share(0.5), p95: share(0.95), p99: share(0.99), max: round(times.at(-1) ?? 0) },
    longestGap: longestGap(right, lastedMs),
    unexpected: unexpected.sort((one, other) => one.at - other.at).slice(0, MAX_REPORTED),
  }
}

function longestGap(right: readonly Answered[], lastedMs: number): { at: number; ms: number } {
  const moments = right.map(({ at, ms }) => at + ms).sort((one, other) => one - other)
  const gaps = [...moments, lastedMs].map((moment, index) => {
    const at = moments[index - 1] ?? 0
    return { at: round(at), ms: round(moment - at) }
  })
  return gaps.reduce((longest, gap) => (gap.ms > longest.ms ? gap : longest), { at: 0, ms: 0 })
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}
