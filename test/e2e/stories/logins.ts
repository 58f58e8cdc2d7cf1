/** The example of users who log in to a server in their browsers, in a cluster: whichever replica answers, it uses a login only for its own user. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { userNamed } from '../../../core/mcp/user.ts'
import { logIn } from '../../login/person.ts'
import { logInTwice } from '../../login/twice.ts'
import { runPortolan } from '../../support/portolan.ts'
import { until } from '../../support/until.ts'
import { LOGIN_PORTS } from '../../upstreams/users/login-world.ts'
import type { Agent } from '../support/agent.ts'
import { type Caller, callerOf } from '../support/caller.ts'
import { manifestFiles, type Places, secretIn } from '../support/example-files.ts'
import { server } from '../support/manifests.ts'
import type { Portolan } from '../support/portolan.ts'
import type { Stories } from '../support/story.ts'

const WORLD = join(import.meta.dirname, '..', '..', 'upstreams', 'users', 'login-world.ts')
const NODE = [process.execPath, '--disable-warning=ExperimentalWarning']
const SPACE = 'logins'
const DOMAIN = `${SPACE}.svc`
const GATEWAY = `http://tools-gateway.${DOMAIN}`
const [GATEWAY_FILE = '', SERVER_FILE = ''] = manifestFiles('users', 'cluster')
const PLACES: Places = {
  'https://mcp.acme.example': GATEWAY,
  'https://login.acme.example': `http://issuer.${DOMAIN}`,
  'https://notes.acme.example': `http://notes.${DOMAIN}`,
}
/** Calls at once, so that both replicas of the gateway get some. */
const AT_ONCE = 12

export const loginStories: Stories = (running, options) => {
  test('each user logs in to a server for themselves, whichever replica answers', options, async t => {
    const portolan = running()
    const world = await startWorld(portolan, t)
    const space = await portolan.namespace(SPACE, t)
    await applyServices(portolan)
    for (const file of [GATEWAY_FILE, SERVER_FILE]) await space.applyFile(file, PLACES)
    await space.untilServing('tools', { ready: 1, routers: 2 })
    const agent = await space.agent('tools')
    const [ada, ben, robot] = await callersOf(portolan, t, [
      world.tokens.ada,
      world.tokens.ben,
      secretIn(GATEWAY_FILE, 'callers', 'ada'),
    ])
    const link = await asked(ada as Caller)
    assert.equal(link, `${GATEWAY}/connect/notes?for=${userNamed(`http://issuer.${DOMAIN}#ada`)?.id}`)
    await assert.rejects(about(robot as Caller), /no person logs in with/)

    // A link that was passed on does not work for anybody else.
    assert.match(await open(agent, link, 'ben', 'eve'), /^403 .*for somebody else/s)
    await asked(ada as Caller)
    assert.match(await open(agent, link, 'ada', 'ada-at-notes'), /^200 .*Logged in to <b>notes/s)
    await allAnswer(ada as Caller, 'ada-at-notes')
    await asked(ben as Caller)
    assert.match(await open(agent, link.replace(/\?.*/, ''), 'ben', 'ben-at-notes'), /^200 .*Logged in/s)
    await allAnswer(ben as Caller, 'ben-at-notes')
    await allAnswer(ada as Caller, 'ada-at-notes')

    // However many calls of both replicas are refused, the login is renewed once.
    await until('both logins are kept', async () => (await keptIn(portolan)).length === 2)
    const before = await keptIn(portolan)
    await world.refuse()
    world.grants.length = 0
    await allAnswer(ada as Caller, 'ada-at-notes')
    assert.deepEqual(world.grants, ['refresh_token'])
    await allAnswer(ben as Caller, 'ben-at-notes')
    assert.deepEqual(world.grants, ['refresh_token', 'refresh_token'])

    // What is kept is sealed, and outlives the routers, also those that have just renewed it.
    const names = async () => (await space.made()).filter(name => name.startsWith('Secret notes-logins-'))
    for (const pod of await space.pods('tools'))
      await portolan.kubectl('delete', 'pod', pod.metadata.name, '-n', SPACE)
    await space.untilServing('tools', { ready: 1 })
    await until('both renewed logins are kept', async () => {
      const now = await keptIn(portolan)
      return now.length === 2 && !now.some(value => before.includes(value))
    })
    const [again] = await callersOf(portolan, t, [world.tokens.ada])
    await allAnswer(again as Caller, 'ada-at-notes')
    assert.deepEqual(world.grants, ['refresh_token', 'refresh_token'])

    const command = (...args: string[]) =>
      runPortolan(['logins', ...args, '--namespace', SPACE], { KUBECONFIG: portolan.cluster.kubeconfig })
    const shown = await command()
    assert.match(shown.stdout, /notes +http:\/\/issuer\.logins\.svc#ada .*\nnotes +\S+#ben /, shown.stderr)
    const deleted = await command('notes', `http://issuer.${DOMAIN}#ada`, '--delete')
    assert.deepEqual([deleted.code, deleted.stdout], [0, 'deleted: 1\n'], deleted.stderr)
    await until('no replica has the login any more', async () =>
      Boolean(await askedEverywhere(again as Caller)),
    )
    await until('one login is kept', async () => (await keptIn(portolan)).length === 1)
    await space.delete(server('notes', {}))
    await until('the Secrets are deleted with their server', async () => (await names()).length === 0)
  })
}

/** Services of the cluster that lead to ports of the control plane's address. */
async function applyServices({ kubectl, cluster }: Portolan): Promise<void> {
  const items = Object.entries(LOGIN_PORTS).flatMap(([name, port]) => [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec: { ports: [{ name: 'http', port: 80, targetPort: port }] },
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports: [{ name: 'http', port }],
      endpoints: [{ addresses: [cluster.addresses.control] }],
    },
  ])
  const folder = mkdtempSync(join(tmpdir(), 'portolan-logins-'))
  const file = join(folder, 'services.json')
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  await kubectl('apply', '--namespace', SPACE, '--filename', file)
  rmSync(folder, { recursive: true })
}

type World = {
  tokens: { ada: string; ben: string }
  /** The kinds of grants that the upstream's authorization server has seen, in order. */
  grants: string[]
  /** The upstream refuses all tokens that it has seen. */
  refuse(): Promise<void>
}

async function startWorld({ cluster }: Portolan, t: TestContext): Promise<World> {
  const { command, env } = cluster.inside([
    ...NODE,
    WORLD,
    cluster.addresses.control,
    DOMAIN,
    `${GATEWAY}/mcp`,
    secretIn(SERVER_FILE, 'notes-lists', 'header'),
  ])
  const [file = '', ...args] = command
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'ignore'], env: { ...process.env, ...env } })
  t.after(() => child.stdin.end())
  const grants: string[] = []
  let tokens: World['tokens'] | undefined
  let refusals = 0
  createInterface({ input: child.stdout }).on('line', line => {
    if (!line.startsWith('{')) return
    const said = JSON.parse(line) as { ada?: string; ben?: string; grant?: string; refused?: number }
    if (said.ada && said.ben) tokens = { ada: said.ada, ben: said.ben }
    if (said.grant) grants.push(said.grant)
    if (said.refused) refusals++
  })
  return {
    tokens: await until('the servers of the world listen', async () => tokens),
    grants,
    async refuse() {
      const before = refusals
      child.stdin.write('refuse\n')
      await until('the upstream refuses', async () => refusals > before)
    },
  }
}

async function callersOf(
  { cluster }: Portolan,
  t: TestContext,
  tokens: readonly string[],
): Promise<Caller[]> {
  const callers = await Promise.all(tokens.map(token => callerOf(cluster, SPACE, 'tools', token)))
  t.after(() => {
    for (const caller of callers) caller.stop()
  })
  return callers
}

const about = (caller: Caller) => caller.call('notes:about', {})

/** Calls a tool without a login, and returns the link of the error. */
async function asked(caller: Caller): Promise<string> {
  const message = await about(caller).then(
    text => assert.fail(text),
    (error: Error) => error.message,
  )
  return /repeat the call after the login: (\S+)$/.exec(message)?.[1] ?? assert.fail(message)
}

/** Whether many calls at once, at both replicas, are all asked to log in. */
async function askedEverywhere(caller: Caller): Promise<boolean> {
  const links = await Promise.all(Array.from({ length: AT_ONCE }, () => asked(caller).catch(() => '')))
  return links.every(link => link !== '')
}

/** Many calls at once, at both replicas, reach the upstream with a token of this account and for this upstream. */
async function allAnswer(caller: Caller, account: string): Promise<void> {
  const texts = await Promise.all(
    Array.from({ length: AT_ONCE }, () => until('the call is answered', () => about(caller))),
  )
  for (const text of texts) {
    const { headers } = JSON.parse(text) as { headers: { authorization: string } }
    const [, payload = ''] = headers.authorization.split('.')
    const { sub, aud } = JSON.parse(Buffer.from(payload, 'base64url').toString())
    assert.deepEqual([sub, aud], [account, `http://notes.${DOMAIN}/mcp`])
  }
}

/** The sealed logins in the Secrets, without those that were deleted. */
async function keptIn({ kubectl }: Portolan): Promise<string[]> {
  const selector = 'app.kubernetes.io/component=logins'
  const text = await kubectl('get', 'secrets', '-n', SPACE, '--selector', selector, '--output', 'json')
  const { items } = JSON.parse(text) as { items: { data?: Record<string, string> }[] }
  const values = items.flatMap(({ data = {} }) => Object.values(data))
  const plain = values.map(value => Buffer.from(value, 'base64').toString())
  for (const value of plain) assert.match(value, /^\d+\.[\w-]*$/)
  return plain.filter(value => !value.endsWith('.'))
}

/** A person in a pod opens the link, and logs in at the gateway's issuer and at the upstream's; resolves with status and text of the last page. */
async function open(agent: Agent, link: string, who: string, account: string): Promise<string> {
  return agent.script(`
    const MAX_PAGES = 12
    ${logIn.toString()}
    ${logInTwice.toString()}
    process.stdout.write(await logInTwice(logIn, ${JSON.stringify(link)}, ${JSON.stringify([who, account])}))
  `)
}
