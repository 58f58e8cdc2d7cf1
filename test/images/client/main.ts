/**
 * An MCP client for pods. The first argument is a command; the result is written to stdout as JSON.
 *
 * - `ask URL REQUESTS`: connects with the SDK and sends `[{method, params}]` one after another.
 * - `get URL`: a plain GET.
 * - `load URL --tool NAME --args JSON`: calls at a steady rate until SIGTERM or for `--seconds`, then prints a report; see load.ts.
 * - `idle`: waits until SIGTERM, so that the other commands can be run in its pod.
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { ask } from './ask.ts'
import { type LoadOptions, startLoad } from './load.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    header: { type: 'string', multiple: true, default: [] },
    tool: { type: 'string', default: 'execute_mcp_tool' },
    args: { type: 'string', default: '{}' },
    expect: { type: 'string', default: '$N' },
    rate: { type: 'string', default: '20' },
    timeout: { type: 'string', default: '30' },
    seconds: { type: 'string' },
  },
})
const [command, url = '', requests = '[]'] = positionals
const headers = Object.fromEntries(
  values.header.map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
)
const print = (value: unknown) => void process.stdout.write(`${JSON.stringify(value)}\n`)

if (command === 'ask') print(await ask(url, JSON.parse(requests), headers))
else if (command === 'get') print(await get())
else if (command === 'load') await load()
else if (command === 'idle') await untilSignal()
else throw new Error(`no such command: ${command}`)

async function get() {
  const answer = await fetch(url, { headers })
  return { status: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.text() }
}

async function load(): Promise<void> {
  const { tool, args, expect, rate, timeout, seconds } = values
  const options: LoadOptions = {
    url,
    headers,
    tool,
    args,
    expect,
    perSecond: Number(rate),
    timeoutMs: Number(timeout) * 1_000,
  }
  const running = startLoad(options)
  await untilSignal(seconds === undefined ? undefined : Number(seconds) * 1_000)
  print(await running.stop())
}

function untilSignal(limitMs?: number): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, limitMs ?? 2 ** 31 - 1)
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        clearTimeout(timer)
        resolve()
      })
    }
  })
}
