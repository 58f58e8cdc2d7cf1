/** The command line as a process: standard output, standard error and exit codes. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { freePort } from '../test/support/free-port.ts'
import { createWorkspace, scriptCommand } from '../test/support/manifests.ts'
import { callTool, request } from '../test/support/mcp.ts'
import { runPortolan, startPortolan } from '../test/support/portolan.ts'
import { untilGone } from '../test/support/processes-left.ts'

const RUDE = 'test/upstreams/rude/server.mjs'
const ESC = '\u001b['

function envOf(cache: string) {
  return { PORTOLAN_CACHE: cache, KUBECONFIG: join(cache, 'no-kubeconfig') }
}

function portolan(cache: string, ...args: string[]) {
  return runPortolan(args, envOf(cache))
}

function begin(cache: string, args: string[]) {
  return startPortolan(args, envOf(cache))
}

test('portolan console needs a kubeconfig and a valid port', async t => {
  const { cache, remove } = createWorkspace()
  t.after(remove)
  const [noCluster, badPort, help] = await Promise.all([
    portolan(cache, 'console'),
    portolan(cache, 'console', '--port', '99999'),
    portolan(cache, 'console', '--help'),
  ])
  assert.deepEqual(
    [noCluster, badPort, help].map(({ code }) => code),
    [1, 2, 0],
  )
  assert.match(noCluster.stderr, /^error: .*no-kubeconfig/)
  assert.match(badPort.stderr, /65535/)
  assert.match(help.stdout, /pods\/portforward/)
})

test('wrong arguments end with exit code 2 and a hint, failures with 1, and both write to standard error only', async t => {
  const { cache, remove } = createWorkspace()
  t.after(remove)
  const [unknown, badPort, badProfile, badSecrets, badUrl, missing, noGateway, help] = await Promise.all([
    portolan(cache, 'sail'),
    portolan(cache, 'up', '.', '--port', 'x'),
    portolan(cache, 'up', '.', '--profile', 'sails'),
    portolan(cache, 'check', '.', '--secrets', 'no-such-secrets'),
    portolan(cache, 'servers', '--url', 'localhost:8080'),
    portolan(cache, 'up', 'no-such-folder'),
    portolan(cache, 'servers', '--url', 'http://127.0.0.1:9'),
    portolan(cache, 'search', '--help'),
  ])
  const badOptions = [unknown, badPort, badProfile, badSecrets, badUrl]
  assert.deepEqual(
    [...badOptions, missing, noGateway, help].map(({ code }) => code),
    [2, 2, 2, 2, 2, 1, 1, 0],
  )
  for (const { stdout } of [...badOptions, missing, noGateway]) assert.equal(stdout, '')
  assert.match(badProfile.stderr, /sails.*hierarchical/)
  assert.match(badSecrets.stderr, /no-such-secrets.*no such folder/)
  assert.match(badUrl.stderr, /"localhost:8080" is not a URL/)
  assert.match(unknown.stderr, /--help/)
  assert.match(missing.stderr, /no-such-folder/)
  assert.match(noGateway.stderr, /portolan up/)
  assert.match(help.stdout, /--limit/)
})

test('check names file, line and field; as JSON it is a list of problems', async t => {
  const space = createWorkspace()
  t.after(space.remove)
  space.write('good', scriptCommand(RUDE, 'polite'))
  writeFileSync(
    join(space.folder, 'bad.yaml'),
    'apiVersion: portolan.dev/v1alpha1\nkind: McpServer\nmetadata: { name: bad }\nspec:\n  tittle: x\n',
  )
  const [table, json] = await Promise.all([
    portolan(space.cache, 'check', space.folder),
    portolan(space.cache, 'check', space.folder, '-o', 'json'),
  ])
  assert.deepEqual([table.code, json.code], [1, 1])
  assert.match(table.stderr, /bad\.yaml:5:\d+ {2}spec\.tittle {2}/)
  assert.ok(!table.stderr.includes(ESC))
  const { servers, problems } = JSON.parse(json.stdout)
  assert.deepEqual(servers, ['good'])
  assert.equal(problems.find(({ path }: { path: string }) => path === 'spec.tittle').line, 5)
})

test('check --cluster reports what the operator would not accept, and not what only a laptop cannot do', async t => {
  const space = createWorkspace()
  t.after(space.remove)
  const manifests = [
    { kind: 'McpGateway', metadata: { name: 'agents' }, spec: { auth: { serviceAccounts: {} } } },
    {
      kind: 'McpGateway',
      metadata: { name: 'open' },
      spec: { router: { service: { type: 'LoadBalancer' } } },
    },
    { kind: 'McpServer', metadata: { name: 'here' }, spec: { command: { run: 'true' } } },
    {
      kind: 'McpServer',
      metadata: { name: 'web' },
      spec: { image: { name: 'web:1', transport: 'http', port: 80 } },
    },
  ].map(manifest => JSON.stringify({ apiVersion: 'portolan.dev/v1alpha1', ...manifest }))
  writeFileSync(join(space.folder, 'all.yaml'), manifests.join('\n---\n'))
  const run = async (...options: string[]) => {
    const { stdout } = await portolan(space.cache, 'check', space.folder, '-o', 'json', ...options)
    const { problems } = JSON.parse(stdout)
    return problems.map(({ line, reason }: { line: number; reason: string }) => `${line} ${reason}`).sort()
  }
  assert.deepEqual(await run('--cluster'), ['3 AnonymousAndExposed', '5 LocalOnly'])
  assert.deepEqual(await run('--cluster', '--gateway', 'agents'), ['5 LocalOnly'])
  assert.deepEqual(await run('--gateway', 'agents'), ['1 ClusterOnly', '7 ClusterOnly'])
})

test('check shows notes on a client config without failing for them, and fails for paths without manifests', async t => {
  const space = createWorkspace()
  t.after(space.remove)
  const empty = await portolan(space.cache, 'check', space.folder)
  assert.equal(empty.code, 1)
  assert.match(empty.stderr, /has no McpServer/)
  const file = join(space.folder, 'mcp.json')
  writeFileSync(file, JSON.stringify({ mcpServers: { 'My Server': { command: 'x', colour: 'blue' } } }))
  const noted = await portolan(space.cache, 'check', file)
  assert.equal(noted.code, 0)
  assert.match(noted.stderr, /^note: .*mcp\.json:1:\d+ {2}mcpServers\["My Server"\]\.colour {2}is not used/m)
})

test('run runs a script even if agents may not run scripts, and fails if the script fails', async t => {
  const space = createWorkspace()
  t.after(space.remove)
  space.write('one', scriptCommand(RUDE, 'polite', `mark-${process.pid}-${Date.now()}`))
  const script = join(space.folder, 'script.js')
  writeFileSync(script, 'return [await tools.one.echo({text: input}), 1]')
  const ran = await portolan(space.cache, 'run', script, space.folder, '--input', '"ahoy"')
  assert.deepEqual([ran.code, ran.stdout.split('\n')[0]], [0, '["ahoy",1]'], ran.stderr)
  writeFileSync(script, 'const a = 1\nreturn a.b.c')
  const failed = await portolan(space.cache, 'run', script, space.folder)
  assert.equal(failed.code, 1)
  assert.match(failed.stderr, /TypeError: .*\n? *line 2, column/s)
})

test('search, call and tokens run the servers of the given paths, and end them when the command ends', async t => {
  const space = createWorkspace()
  t.after(space.remove)
  const mark = `mark-${process.pid}-${Date.now()}`
  space.write('one', scriptCommand(RUDE, 'polite', mark))
  space.write('hung', { ...scriptCommand(RUDE, 'hang-initialize', mark), limits: { startTimeout: '60s' } })
  const called = await portolan(space.cache, 'call', 'one:echo', '{"text":"ahoy"}', space.folder)
  assert.deepEqual([called.code, called.stdout.trim()], [0, 'ahoy'], called.stderr)
  const wrong = await portolan(space.cache, 'call', 'one:ecco', '{}', space.folder)
  assert.deepEqual([wrong.code, wrong.stdout], [1, ''])
  assert.match(wrong.stderr, /one:echo/)
  space.delete('hung')
  const [found, cost] = await Promise.all([
    portolan(space.cache, 'search', 'one echo', space.folder, '-o', 'json'),
    portolan(space.cache, 'tokens', space.folder, '--tools'),
  ])
  assert.equal(JSON.parse(found.stdout).tools[0].tool_path, 'one:echo')
  assert.match(cost.stdout, /one:echo +\d+/)
  assert.match(cost.stdout, /tokens directly/)
  assert.deepEqual(await untilGone(mark), [])
})

test('eval, scenarios and search use the servers of the given paths, and eval fails if recall is too low', async t => {
  const space = createWorkspace()
  t.after(space.remove)
  space.write('one', scriptCommand(RUDE, 'polite', `mark-${process.pid}-${Date.now()}-eval`))
  const [queries, tasks] = [join(space.cache, 'queries.jsonl'), join(space.cache, 'tasks.yaml')]
  mkdirSync(space.cache, { recursive: true })
  const relevant = (...tools: string[]) => tools.map((tool, group) => ({ server: 'one', tool, group }))
  const labelled = [
    { query: 'echo', relevant: relevant('echo', 'brew') },
    { query: 'bake a cake', relevant: relevant('bake') },
  ]
  writeFileSync(queries, labelled.map(query => JSON.stringify(query)).join('\n'))
  writeFileSync(tasks, '- { query: echo, call: { tool: "one:echo", arguments: { text: hi } } }')
  const [good, bad, cost, explained, found, noScenario, noFolder] = await Promise.all([
    portolan(space.cache, 'eval', queries, space.folder, '--min-recall5', '0.25', '-o', 'json'),
    portolan(space.cache, 'eval', queries, space.folder, '--min-recall5', '0.3'),
    portolan(space.cache, 'tokens', '--scenario', tasks, '--execute', space.folder, '-o', 'json'),
    portolan(space.cache, 'search', '--explain', 'echo', space.folder),
    portolan(space.cache, 'search', 'echo', space.folder),
    portolan(space.cache, 'tokens', '--execute', space.folder),
    portolan(space.cache, 'search', 'echo', join(space.folder, 'nowhere')),
  ])
  assert.deepEqual([good.code, bad.code, cost.code, explained.code], [0, 1, 0, 0], bad.stderr)
  assert.match(found.stdout, /^By words alone: The model .* is not there: run `portolan model`$/m)
  assert.deepEqual([noScenario.code, noScenario.stdout], [2, ''])
  assert.match(noScenario.stderr, /add --scenario FILE/)
  assert.deepEqual([noFolder.code, noFolder.stdout], [1, ''])
  assert.match(noFolder.stderr, /there is no such file or folder: .*nowhere/)
  assert.equal(JSON.parse(good.stdout).recall5, 0.25)
  assert.match(bad.stdout, /^ {2}echo {2}one:brew {2}found one:echo/m)
  assert.match(bad.stdout, /bake a cake +one:bake/)
  assert.match(
    bad.stderr,
    /2 wanted tools are not in the catalog: one:brew, one:bake\n.*recall@5 is 0\.250, below 0\.3/s,
  )
  const { profiles } = JSON.parse(cost.stdout)
  assert.deepEqual(
    profiles.map(({ profile, missed, error }: Record<string, unknown>) => [profile, missed, error]),
    ['hierarchical', 'search', 'registry'].map(profile => [profile, 0, 0]),
  )
  assert.match(explained.stdout, /^echo +echo +1/m)
  assert.match(explained.stdout, /one:echo/)
})

test('up prints its state as JSON, servers shows it, and Ctrl-C stops it with exit code 0 and leaves no child', async t => {
  const space = createWorkspace()
  t.after(space.remove)
  const mark = `mark-${process.pid}-${Date.now()}-up`
  space.write('one', scriptCommand(RUDE, 'polite', mark))
  const child = begin(space.cache, ['up', space.folder, '--port', '0', '-o', 'json'])
  t.after(() => child.kill('SIGKILL'))
  let log = ''
  child.stderr.on('data', text => (log += text))
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const { url, servers } = JSON.parse(line)
  const found = await portolan(space.cache, 'search', 'echo', '--url', url)
  assert.match(found.stdout, /one:echo/)
  assert.equal(servers[0].state, 'ready')
  const shown = await portolan(space.cache, 'servers', '--url', url)
  assert.match(shown.stdout, /^one +Ready +stdio +2025-11-25 +\d+ +\d+$/m)
  assert.match(shown.stdout, /share a session: one\./)
  const exited = once(child, 'exit')
  child.kill('SIGINT')
  assert.deepEqual(await exited, [0, null])
  assert.match(log, /"direct":0,"served":\d+,"saved":-\d+,.*"tokens saved"/)
  assert.deepEqual(await untilGone(mark), [])
})

test('up runs scripts and serves the profile code only with --code', async t => {
  const space = createWorkspace()
  t.after(space.remove)
  space.write('one', scriptCommand(RUDE, 'polite', `mark-${process.pid}-code`))
  const refused = await portolan(space.cache, 'up', space.folder, '--port', '0', '--profile', 'code')
  assert.deepEqual([refused.code, refused.stdout], [2, ''])
  assert.match(refused.stderr, /scripts, which are off: add --code, or set spec\.code\.enabled/)
  const script = { code: 'return tools.one.echo({ text: "ahoy" })' }
  for (const [options, names] of [
    [['--code'], ['find_tools', 'run_mcp_script']],
    [[], undefined],
  ] as const) {
    const child = begin(space.cache, ['up', space.folder, '--port', '0', '-o', 'json', ...options])
    t.after(() => child.kill('SIGKILL'))
    const [line] = await once(createInterface({ input: child.stdout }), 'line')
    const { url } = JSON.parse(line)
    const { tools } = (await request(url, 'tools/list')) as { tools: { name: string }[] }
    assert.equal(
      tools.some(({ name }) => name === 'run_mcp_script'),
      names !== undefined,
    )
    const listed = request(new URL('/mcp/code', url).href, 'tools/list')
    if (names) {
      const { tools } = (await listed) as { tools: { name: string }[] }
      assert.deepEqual(
        tools.map(({ name }) => name),
        names,
      )
      assert.equal((await callTool(url, 'run_mcp_script', script)).content[0]?.text, 'ahoy')
    } else await assert.rejects(listed, /404/)
    const exited = once(child, 'exit')
    child.kill('SIGINT')
    await exited
  }
})

test('portolan bridge listens on 127.0.0.1 only', async t => {
  const { cache, remove } = createWorkspace()
  t.after(remove)
  const { run, args } = scriptCommand(RUDE, 'polite', `mark-${process.pid}-bridge`).command
  const port = await freePort()
  const child = begin(cache, ['bridge', '--port', `${port}`, '--', run, ...args])
  t.after(() => child.kill('SIGKILL'))
  for await (const line of createInterface({ input: child.stderr }))
    if (line.includes('bridge listens')) break
  assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200)
  await assert.rejects(fetch(`http://127.0.0.2:${port}/healthz`), { message: 'fetch failed' })
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  assert.deepEqual(await exited, [0, null])
})
