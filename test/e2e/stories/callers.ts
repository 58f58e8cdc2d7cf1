/** Who may use a gateway in a cluster: named tokens and ServiceAccounts, each with what its rules grant. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../support/until.ts'
import { type Agent, agentPod } from '../support/agent.ts'
import { fixture, gateway, secret, server } from '../support/manifests.ts'
import type { Stories } from '../support/story.ts'

const TOKEN = 'of-a-ci-job-0123456789abcdefghijklmnop'
const RENEWED = 'renewed-for-ci-0123456789abcdefghijklm'

/** The status of a search for all tools, and the paths that it finds. */
async function searchWith(
  agent: Agent,
  token?: string,
  namespace = 'callers',
): Promise<{ status: number; found: string[] }> {
  const call = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'discover_mcp_tools', arguments: { query: 'kit', operation: 'list', limit: 50 } },
  }
  const headers = headersWith(token)
  const said = await agent.script(`
const response = await fetch('${urlIn(namespace)}', { method: 'POST', headers: ${JSON.stringify(headers)}, body: ${JSON.stringify(JSON.stringify(call))} })
console.log(JSON.stringify({ status: response.status, text: await response.text() }))`)
  const { status, text } = JSON.parse(said) as { status: number; text: string }
  return { status, found: [...new Set(text.match(/kit:\w+/g))].sort() }
}

const urlIn = (namespace: string) => `http://tools-gateway.${namespace}.svc/mcp`

function headersWith(token?: string) {
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  }
}

/** 10 s for the `review` of the gateway, 10 s for what the API server caches, and a margin for slow machines. */
const LATEST_MS = 40_000
/** At this port the script in the agent's pod answers while the stream is open. */
const OPEN_PORT = 9_999

/** Opens a stream from the agent's pod; `ended` resolves with its status when it ended. */
async function openStream(
  agent: Agent,
  token: string,
  namespace: string,
): Promise<{ ended: Promise<string> }> {
  const begin = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'story', version: '1' } },
  }
  const ended = agent.script(`
import { createServer } from 'node:http'
const [url, headers] = ${JSON.stringify([urlIn(namespace), headersWith(token)])}
const begun = await fetch(url, { method: 'POST', headers, body: ${JSON.stringify(JSON.stringify(begin))} })
await begun.text()
const session = begun.headers.get('mcp-session-id')
const stream = await fetch(url, { headers: { ...headers, accept: 'text/event-stream', 'mcp-session-id': session } })
const server = createServer((request, response) => response.end('open')).listen(${OPEN_PORT})
for await (const part of stream.body);
console.log(stream.status)
server.close()
server.closeAllConnections()`)
  ended.catch(() => {}) // awaited later
  await until('the stream is open', async () =>
    (await agent.script(`console.log(await (await fetch('http://127.0.0.1:${OPEN_PORT}')).text())`)).includes(
      'open',
    ),
  )
  return { ended }
}

export const callerStories: Stories = (running, options) => {
  test('callers are admitted by their tokens, and each finds what its rules grant', options, async t => {
    const space = await running().namespace('callers', t)
    const { kubectl } = running()
    await space.apply(
      secret('callers', { ci: TOKEN }),
      server('kit', fixture()),
      gateway('tools', {
        router: { replicas: 2 },
        auth: { tokens: { secretName: 'callers' }, serviceAccounts: {} },
        access: [
          { name: 'ci', subjects: [{ kind: 'Token', name: 'ci' }], tools: { allow: ['echo'] } },
          { name: 'agents', subjects: [{ kind: 'ServiceAccount', name: 'default' }] },
        ],
      }),
    )
    await space.untilServing('tools', { ready: 1 })
    const agent = await space.agent('tools')
    assert.equal((await searchWith(agent)).status, 401)
    assert.equal((await searchWith(agent, 'x'.repeat(40))).status, 401)
    assert.deepEqual(await searchWith(agent, TOKEN), { status: 200, found: ['kit:echo'] })

    const tokenOf = async (audience: string) =>
      (await kubectl('create', 'token', 'default', '--namespace', 'callers', '--audience', audience)).trim()
    const account = await searchWith(agent, await tokenOf('portolan'))
    assert.equal(account.status, 200)
    assert.ok(account.found.includes('kit:echo') && account.found.includes('kit:pid'))
    assert.equal((await searchWith(agent, await tokenOf('another'))).status, 401)

    await space.apply(secret('callers', { ci: RENEWED }))
    const statusWith = async (token: string) => (await searchWith(agent, token)).status
    await until('the new token is admitted', async () => (await statusWith(RENEWED)) === 200)
    await until('the old token is refused', async () => (await statusWith(TOKEN)) === 401)
  })
  test('the token of a deleted pod is refused at the next review, and its stream ends', options, async t => {
    const space = await running().namespace('reviewed', t)
    const { kubectl } = running()
    const auth = { serviceAccounts: { review: '10s' } }
    await space.apply(
      server('kit', fixture()),
      gateway('tools', { router: { replicas: 2 }, auth }),
      agentPod('gone-soon'),
    )
    await space.untilServing('tools', { ready: 1 })
    const subjects = ['--output', 'jsonpath={.subjects[*].namespace}']
    assert.equal(await kubectl('get', 'clusterrolebinding', 'portolan-token-review', ...subjects), 'reviewed')
    const agent = await space.agent('tools')
    const audience = ['--namespace', 'reviewed', '--audience', 'portolan']
    const tokenOf = async (...bound: string[]) =>
      (await kubectl('create', 'token', 'default', ...audience, ...bound)).trim()
    const ofPod = await tokenOf('--bound-object-kind', 'Pod', '--bound-object-name', 'gone-soon')
    const ofAccount = await tokenOf()
    const statusWith = async (token: string) => (await searchWith(agent, token, 'reviewed')).status
    assert.deepEqual([await statusWith(ofPod), await statusWith(ofAccount)], [200, 200])
    const { ended } = await openStream(agent, ofPod, 'reviewed')
    await kubectl('delete', 'pod', 'gone-soon', '--namespace', 'reviewed', '--wait')
    const deleted = performance.now()
    // The API server itself caches the token for 10 s.
    await until('the token is refused', async () => (await statusWith(ofPod)) === 401, LATEST_MS)
    t.diagnostic(`refused ${Math.round(performance.now() - deleted)} ms after the pod was gone`)
    assert.equal((await ended).trim(), '200')
    t.diagnostic(`stream ended ${Math.round(performance.now() - deleted)} ms after the pod was gone`)
    assert.equal(await statusWith(ofAccount), 200)
  })
}
