/** Who may use a gateway in a cluster: named tokens and ServiceAccounts, each with what its rules grant. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../support/agent.ts'
import { fixture, gateway, secret, server } from '../support/manifests.ts'
import type { Stories } from '../support/story.ts'
import { until } from '../support/until.ts'

const URL = 'http://tools-gateway.callers.svc/mcp'
const TOKEN = 'of-a-ci-job-0123456789abcdefghijklmnop'
const RENEWED = 'renewed-for-ci-0123456789abcdefghijklm'

/** The status of a search for all tools, and the paths that it finds. */
async function searchWith(agent: Agent, token?: string): Promise<{ status: number; found: string[] }> {
  const call = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'discover_mcp_tools', arguments: { query: 'kit', operation: 'list', limit: 50 } },
  }
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  }
  const said = await agent.script(`
const response = await fetch('${URL}', { method: 'POST', headers: ${JSON.stringify(headers)}, body: ${JSON.stringify(JSON.stringify(call))} })
console.log(JSON.stringify({ status: response.status, text: await response.text() }))`)
  const { status, text } = JSON.parse(said) as { status: number; text: string }
  return { status, found: [...new Set(text.match(/kit:\w+/g))].sort() }
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
    await until('the old one is not', async () => (await statusWith(TOKEN)) === 401)
  })
}
