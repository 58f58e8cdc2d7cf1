/** Reading paths: folders, files and client configs, and the last valid state of broken files. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Loaded, ManifestFiles } from './files.ts'

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-files-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const server = (name: string, extra = '') =>
  `apiVersion: portolan.dev/v1alpha1\nkind: McpServer\nmetadata: { name: ${name} }\nspec:\n  command: { run: echo }\n${extra}`
const names = ({ manifests }: Loaded) => manifests.map(({ manifest }) => manifest.metadata.name).sort()

test('a folder is read without subfolders, and JSON of other kinds is ignored', async t => {
  const folder = folderFor(t)
  mkdirSync(join(folder, 'below'))
  writeFileSync(join(folder, 'a.yaml'), server('a'))
  writeFileSync(join(folder, 'b.yml'), `${server('b')}---\n${server('c')}`)
  writeFileSync(join(folder, 'below', 'd.yaml'), server('d'))
  writeFileSync(join(folder, 'package.json'), '{"name":"x"}')
  writeFileSync(
    join(folder, 'deployment.yaml'),
    'apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: x }\n',
  )
  const loaded = await new ManifestFiles([folder]).scan()
  assert.deepEqual(names(loaded), ['a', 'b', 'c'])
  assert.deepEqual(loaded.problems, [])
  assert.equal(loaded.manifests[0]?.folder, folder)
})

test('a broken document keeps its last valid state, the rest of the file is read, and the problem has its position', async t => {
  const folder = folderFor(t)
  const file = join(folder, 'all.yaml')
  writeFileSync(file, `${server('a')}---\n${server('b')}`)
  const files = new ManifestFiles([folder])
  assert.deepEqual(names(await files.scan()), ['a', 'b'])
  writeFileSync(file, `${server('a', '  tittle: x\n')}---\n${server('c')}`)
  const loaded = await files.scan()
  assert.deepEqual(names(loaded), ['a', 'c'])
  const [problem] = loaded.problems
  assert.deepEqual([problem?.file, problem?.line, problem?.path], [file, 6, 'spec.tittle'])
})

test('a document with a mistyped name or kind keeps its server', async t => {
  const folder = folderFor(t)
  const file = join(folder, 'all.yaml')
  writeFileSync(file, `${server('a')}---\n${server('b')}`)
  const files = new ManifestFiles([folder])
  await files.scan()
  for (const broken of [server('A_'), server('a').replace('McpServer', 'McpSever')]) {
    writeFileSync(file, `${broken}---\n${server('b')}`)
    const loaded = await files.scan()
    assert.deepEqual(names(loaded), ['a', 'b'], broken)
    assert.equal(loaded.problems.length, 1)
  }
})

test('a file that is no longer YAML keeps all its servers until it is valid again', async t => {
  const folder = folderFor(t)
  const file = join(folder, 'all.yaml')
  writeFileSync(file, `${server('a')}---\n${server('b')}`)
  const files = new ManifestFiles([folder])
  await files.scan()
  for (const broken of ['spec: [', `${server('a')}  bad: : {\n`]) {
    writeFileSync(file, broken)
    const loaded = await files.scan()
    assert.deepEqual(names(loaded), ['a', 'b'])
    assert.equal(loaded.problems.length, 1)
  }
  writeFileSync(file, server('b'))
  const mended = await files.scan()
  assert.deepEqual([names(mended), mended.problems], [['b'], []])
})

test('a deleted file removes its servers, and a duplicate name is a problem of the second server', async t => {
  const folder = folderFor(t)
  writeFileSync(join(folder, 'a.yaml'), server('same'))
  writeFileSync(join(folder, 'b.yaml'), `${server('same')}---\n${server('b')}`)
  const files = new ManifestFiles([folder])
  const loaded = await files.scan()
  assert.deepEqual(names(loaded), ['b', 'same'])
  assert.equal(loaded.problems[0]?.file, join(folder, 'b.yaml'))
  assert.match(loaded.problems[0]?.message ?? '', /a\.yaml:1/)
  unlinkSync(join(folder, 'b.yaml'))
  assert.deepEqual(names(await files.scan()), ['same'])
})

test('a path that is missing for a while keeps its manifests, is reported, and is looked for itself', async t => {
  const folder = folderFor(t)
  for (const given of ['below', join('below', 'a.yaml')]) {
    mkdirSync(join(folder, 'below'))
    writeFileSync(join(folder, 'below', 'a.yaml'), server('a'))
    writeFileSync(join(folder, 'b.yaml'), server('b'))
    const files = new ManifestFiles([join(folder, given), join(folder, 'b.yaml')])
    await files.scan()
    renameSync(join(folder, 'below'), join(folder, 'away'))
    for (let time = 0; time < 2; time++) {
      const { problems, ...loaded } = await files.scan()
      assert.deepEqual(names({ problems, ...loaded }), ['a', 'b'])
      assert.deepEqual(
        problems.map(({ reason, file }) => [reason, file]),
        [['FileNotFound', join(folder, given)]],
      )
      assert.match(problems[0]?.message ?? '', /kept until it is back/)
      assert.ok((await files.folders()).includes(join(folder, given)))
    }
    renameSync(join(folder, 'away'), join(folder, 'below'))
    unlinkSync(join(folder, 'b.yaml'))
    writeFileSync(join(folder, 'b.yaml'), server('c'))
    const back = await files.scan()
    assert.deepEqual([names(back), back.problems], [['a', 'c'], []])
    rmSync(join(folder, 'below'), { recursive: true })
  }
})

test('a client config is read; a broken one keeps its previous servers', async t => {
  const folder = folderFor(t)
  const file = join(folder, 'mcp.json')
  const variable = (name: string) => `\${${name}}`
  const entry = {
    command: 'my-server',
    args: [variable('HOME_DIR')],
    env: { API_TOKEN: variable('env:TOKEN') },
  }
  writeFileSync(file, JSON.stringify({ mcpServers: { One: entry } }))
  const files = new ManifestFiles([file], { HOME_DIR: '/home/me' })
  const loaded = await files.scan()
  assert.deepEqual([names(loaded), loaded.problems], [['one'], []])
  const { manifest } = loaded.manifests[0] ?? {}
  assert.ok(manifest?.kind === 'McpServer')
  assert.deepEqual(manifest.spec.command?.args, ['/home/me'])
  assert.equal(loaded.imported.length, 1)
  writeFileSync(file, '{ "mcpServers": { "One": ')
  const broken = await files.scan()
  assert.deepEqual([names(broken), broken.imported.length, broken.problems.length], [['one'], 1, 1])
})

test('a problem with a value from a client config has the position and the field in the config', async t => {
  const folder = folderFor(t)
  const file = join(folder, 'mcp.json')
  const text = `{ "mcpServers": { "One": {\n  "command": "x",\n  "env": {\n    "A": "1",\n    "TOKEN": "\${TOKEN}" } } } }`
  writeFileSync(file, text)
  const [found] = (await new ManifestFiles([file]).scan()).manifests
  assert.deepEqual(found?.placeOf('spec.env[1].valueFrom'), {
    line: 5,
    column: 14,
    path: 'mcpServers.One.env.TOKEN',
  })
  assert.equal(found?.placeOf('spec.sessions').path, 'mcpServers.One')
})

test('notes on a client config are reported, and the env file that it refers to is read', async t => {
  const folder = folderFor(t)
  const file = join(folder, '.vscode', 'mcp.json')
  mkdirSync(join(folder, '.vscode'))
  const entry = { command: 'x', env: { OWN: '1' }, envFile: `\${workspaceFolder}/.env`, colour: 'blue' }
  writeFileSync(file, JSON.stringify({ servers: { One: entry } }))
  const files = new ManifestFiles([file])
  assert.deepEqual(
    (await files.scan()).notes.filter(({ reason }) => reason === 'Unreadable').map(({ path }) => path),
    ['servers.One.envFile'],
  )
  writeFileSync(join(folder, '.env'), '# mine\nTOKEN="hush hush"\nOWN=2\n')
  const { manifests, imported, notes, problems } = await files.scan()
  assert.deepEqual(problems, [])
  assert.deepEqual(notes.map(({ reason }) => reason).sort(), ['Renamed', 'UnknownField'])
  const { manifest } = manifests[0] ?? {}
  assert.ok(manifest?.kind === 'McpServer')
  assert.deepEqual(
    manifest.spec.env.map(({ name, value }) => [name, value]),
    [
      ['TOKEN', undefined],
      ['OWN', '1'],
    ],
  )
  assert.deepEqual(imported[0]?.secrets['one-secrets']?.TOKEN, [{ kind: 'text', text: 'hush hush' }])
})

test('a changed env file is read again, wherever it is, and its folder is watched', async t => {
  const [folder, elsewhere] = [folderFor(t), folderFor(t)]
  const [file, envFile] = [join(folder, 'mcp.json'), join(elsewhere, 'local.env')]
  writeFileSync(file, JSON.stringify({ servers: { one: { command: 'x', envFile } } }))
  writeFileSync(envFile, 'TOKEN=first\n')
  const files = new ManifestFiles([file])
  const values = async () => (await files.scan()).imported[0]?.secrets['one-secrets']
  assert.deepEqual(await values(), { TOKEN: [{ kind: 'text', text: 'first' }] })
  assert.deepEqual(await files.folders(), [folder, elsewhere])
  assert.ok(files.concerns(envFile))
  assert.ok(!files.concerns(join(elsewhere, 'other.env')))
  writeFileSync(envFile, 'TOKEN=second\n')
  assert.deepEqual(await values(), { TOKEN: [{ kind: 'text', text: 'second' }] })
  unlinkSync(envFile)
  assert.equal(await values(), undefined)
})

test('in a command and a URL, an input has its default or the value of its variable; without one, the problem names it', async t => {
  const folder = folderFor(t)
  const file = join(folder, 'mcp.json')
  const one = { command: 'x', args: ['--team', `\${input:team-name}`] }
  const two = { url: `https://example.com/\${input:sub-path}/mcp` }
  const inputs = [
    { id: 'team-name', type: 'promptString', default: 'blue' },
    { id: 'sub-path', type: 'promptString' },
  ]
  writeFileSync(file, JSON.stringify({ inputs, servers: { one, two } }))
  const argsWith = async (env: Record<string, string>) => {
    const { manifests, problems } = await new ManifestFiles([file], env).scan()
    const found = manifests.find(({ manifest }) => manifest.metadata.name === 'one')?.manifest
    assert.ok(found?.kind === 'McpServer')
    return { args: found.spec.command?.args, problems: problems.map(({ message }) => message) }
  }
  const { args, problems } = await argsWith({})
  assert.deepEqual(args, ['--team', 'blue'])
  assert.deepEqual(problems, [
    `needs \${input:sub-path}, which has no value: set the environment variable SUB_PATH`,
  ])
  assert.deepEqual(await argsWith({ TEAM_NAME: 'red', SUB_PATH: 'a' }), {
    args: ['--team', 'red'],
    problems: [],
  })
})

test('paths without any manifest are reported as a problem', async t => {
  const folder = folderFor(t)
  const files = new ManifestFiles([folder])
  const [problem] = (await files.scan()).problems
  assert.deepEqual([problem?.reason, problem?.file], ['NothingFound', folder])
  writeFileSync(join(folder, 'a.yaml'), server('a'))
  assert.deepEqual((await files.scan()).problems, [])
})

test('each path that is missing or contains no manifest is reported', async t => {
  const folder = folderFor(t)
  writeFileSync(join(folder, 'x.json'), '{"name":"x"}')
  const { problems } = await new ManifestFiles([join(folder, 'none'), join(folder, 'x.json')]).scan()
  assert.deepEqual(
    problems.map(({ reason }) => reason),
    ['FileNotFound', 'NothingFound'],
  )
})

test('if a client config lists the gateway itself, this entry is left out with a note', async t => {
  const folder = folderFor(t)
  const file = join(folder, 'mcp.json')
  const urls = {
    portolan: 'http://localhost:8080/mcp',
    again: 'http://127.0.0.1:8080/mcp/search',
    other: 'http://localhost:8081/mcp',
    far: 'http://example.com:8080/mcp',
  }
  const entries = Object.entries(urls).map(([name, url]) => [name, { url }])
  const desktop = { command: 'npx', args: ['-y', 'mcp-remote', urls.portolan] }
  const mcpServers = { ...Object.fromEntries(entries), Desktop: desktop }
  writeFileSync(file, JSON.stringify({ mcpServers }))
  const loaded = await new ManifestFiles([file], {}, { host: '127.0.0.1', port: 8080 }).scan()
  assert.deepEqual(names(loaded), ['far', 'other'])
  assert.deepEqual(
    loaded.notes.map(({ message }) => message),
    ['portolan', 'again', 'Desktop'].map(name => `${name} is left out: it is this gateway itself`),
  )
  const elsewhere = await new ManifestFiles([file]).scan()
  assert.equal(names(elsewhere).length, 5)
  assert.deepEqual(
    elsewhere.notes.map(({ message }) => message.replace(/-[0-9a-f]{6}/, '-…')),
    [
      'is called "portolan-…" here: "portolan" is reserved',
      'is called "desktop" here: names are lower-case letters, digits and "-"',
    ],
  )
})
