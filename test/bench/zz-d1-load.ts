import autocannon from 'autocannon'
import { spawn } from 'node:child_process'
const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'execute_mcp_tool', arguments: { tool_path: 'a:b', arguments: { text: 'hello' } } } })
for (const [i, file] of ['d1-front.ts', 'd1-bare.ts', 'd1-front.ts'].entries()) {
  const port = 18700 + i
  const child = spawn(process.execPath, [`/tmp/portolan/${file}`, String(port)], { stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise(r => child.stdout.once('data', r))
  for (const c of [1, 16]) {
  const r = await autocannon({ url: `http://127.0.0.1:${port}/mcp`, method: 'POST', body, connections: c, duration: 3, headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' } })
  console.log(file, c, r.requests.average, JSON.stringify({ p50: r.latency.p50, p90: r.latency.p90, p99: r.latency.p99, max: r.latency.max, non: r.non2xx, err: r.errors, resets: r.resets })) }
  child.kill()
}
