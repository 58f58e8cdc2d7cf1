/** The command line of the bridge. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from './config.ts'

const HOST = { env: { PATH: '/bin', API_TOKEN: 'hidden' }, argv: ['node', '/portolan/bridge.cjs'] }
const read = (line: string) => readConfig(line.split(' '), HOST as unknown as NodeJS.Process)

test("everything after -- is the server's command, even if it looks like an option", () => {
  const config = read('--port 1234 --sessions perClient --idle-after 1m --name git -- uvx mcp --port 9 -- x')
  assert.deepEqual(config, {
    kind: 'serve',
    port: 1234,
    host: '::',
    sessions: 'perClient',
    bearerFile: undefined,
    instance: undefined,
    tlsFolder: undefined,
    metricsPort: undefined,
    startTimeoutMs: 60_000,
    drainMs: 25_000,
    idleAfterMs: 60_000,
    name: 'git',
    startFile: undefined,
    command: ['uvx', 'mcp', '--port', '9', '--', 'x'],
    env: HOST.env,
    secrets: ['hidden'],
    terminationLog: '/dev/termination-log',
  })
})

test('the commands probe, install and deliver have their own arguments', () => {
  assert.deepEqual(read('--probe http://127.0.0.1:80/mcp --timeout 2s'), {
    kind: 'probe',
    url: 'http://127.0.0.1:80/mcp',
    timeoutMs: 2_000,
  })
  const install = read('install npm @a/b --version 1.0.0 --registry http://npm.internal/ --into /opt/mcp')
  assert.deepEqual(install.kind === 'install' && [install.source, install.registry, install.into], [
    { kind: 'npm', package: '@a/b', version: '1.0.0', bin: undefined },
    'http://npm.internal/',
    '/opt/mcp',
  ])
  assert.deepEqual(read('deliver /delivered'), { kind: 'deliver', from: '/portolan', into: '/delivered' })
})

test('an error names the argument that is wrong', () => {
  const cases: [string, RegExp][] = [
    ['--port 8080', /command is missing/],
    ['--port no -- x', /--port no/],
    ['--sessions perUser -- x', /shared or perClient/],
    ['--start-timeout 60 -- x', /--start-timeout/],
    ['--idle-after soon -- x', /--idle-after/],
    ['--nonsense -- x', /--nonsense/],
    ['run -- x', /run is not a command/],
    ['--probe nowhere', /not a URL/],
    ['--probe http://a --timeout 1', /--timeout/],
    ['install cargo x --into /a', /npm or pypi/],
    ['install npm x', /--into/],
    ['install npm x --into /a --registry here', /--registry here/],
    ['deliver', /one folder/],
  ]
  for (const [line, message] of cases) {
    const config = read(line)
    assert.ok(config.kind === 'problem', line)
    assert.match(config.message, message, line)
  }
})
