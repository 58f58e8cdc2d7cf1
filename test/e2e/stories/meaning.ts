/** Tools that are found by what they mean: encoded by the operator, or by a service; the routers encode the queries. */
import assert from 'node:assert/strict'
import process from 'node:process'
import { test } from 'node:test'
import type { KubeObject } from '../../../core/kube/object.ts'
import { fetchedModel } from '../../../scripts/image-root.ts'
import { until } from '../../support/until.ts'
import { agentPod } from '../support/agent.ts'
import { fixture, gateway, secret, server } from '../support/manifests.ts'
import type { Namespace } from '../support/namespace.ts'
import type { Stories } from '../support/story.ts'

type Pod = KubeObject & { spec: { containers: object[] } }

/** The image of the tests has the model if this machine has it. */
const hasModel = fetchedModel(process.env) !== undefined

const QUERY = 'elephants and giraffes'
const ZOO = server('kit', {
  ...fixture(),
  tools: { overrides: { echo: { description: 'Which animals live in the zoo' } } },
})
const router = { replicas: 1 }

/** An embeddings service that recognises texts about animals, and requires a token. */
const SERVICE = `
  const vectorOf = text => (/zoo|elephant/.test(text) ? [1, 0] : [0, 1])
  require('http').createServer(async (request, response) => {
    if (request.headers.authorization !== 'Bearer sesame') return response.writeHead(401).end()
    const { input } = JSON.parse(Buffer.concat(await request.toArray()).toString())
    response.end(JSON.stringify({ data: input.map((text, index) => ({ index, embedding: vectorOf(text) })) }))
  }).listen(8080)`

export const meaningStories: Stories = (running, options) => {
  test('a query finds a tool with which it shares no word', options, async t => {
    if (!hasModel && !process.env.CI) return t.skip('there is no model; `npx portolan model` fetches it')
    const space = await running().namespace('meaning', t)
    const words = gateway('words', { router, search: { semantic: 'none' } })
    await space.apply(ZOO, words, gateway('tools', { router }))
    for (const name of ['words', 'tools']) await space.untilServing(name, { ready: 1 })
    const agent = await space.agent('words')
    const other = agent.at('http://tools-gateway.meaning.svc/mcp')
    await until('the vectors are there', async () => (await other.find(QUERY))[0] === 'kit:echo')
    assert.deepEqual(await agent.find(QUERY), [])
    await until('both say how they search', async () => {
      return (await searchOf(space, 'tools')) === 'embedded' && (await searchOf(space, 'words')) === 'off'
    })
  })

  test('an embeddings service encodes instead, once the Secret with its key is there', options, async t => {
    const space = await running().namespace('embeddings', t)
    const secretRef = { name: 'login', key: 'token' }
    const embeddings = { url: await startService(space), model: 'animals', secretRef }
    await space.apply(ZOO, gateway('tools', { router, search: { embeddings } }))
    await space.untilSaidOfGateway('tools', 'Accepted', 'SecretNotFound')
    await space.untilServing('tools', { ready: 1 })
    const agent = await space.agent('tools')
    assert.deepEqual(await agent.find(QUERY), [])
    await space.apply(secret('login', { token: 'sesame' }))
    await space.untilSaidOfGateway('tools', 'Accepted', 'Accepted')
    await until('the vectors are there', async () => (await agent.find(QUERY))[0] === 'kit:echo')
    await until('the gateway says so', async () => (await searchOf(space, 'tools')) === 'endpoint')
  })
}

async function searchOf(space: Namespace, name: string): Promise<string | undefined> {
  return (await space.gateway(name))?.status?.search?.semantic
}

/** Resolves with the URL of the service. */
async function startService(space: Namespace): Promise<string> {
  const labels = { 'app.kubernetes.io/instance': 'service' }
  const { spec, ...pod } = agentPod('service', { labels }) as Pod
  const command = ['/usr/local/bin/node', '-e', SERVICE]
  await space.apply({
    ...pod,
    spec: { ...spec, containers: spec.containers.map(one => ({ ...one, command })) },
  } as KubeObject)
  const address = await until('the service runs', async () => {
    const [found] = await space.pods('service')
    return found?.status?.phase === 'Running' && found.status.podIP
  })
  return `http://${address}:8080/v1`
}
