/** `portolan bridge` as a process: it takes everything that the usage of the bridge offers. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { USAGE } from '../bridge/config.ts'

function bridge(...args: string[]): { status: number | null; stderr: string } {
  const node = ['--disable-warning=ExperimentalWarning', 'cli/main.ts', 'bridge', ...args]
  return spawnSync(process.execPath, node, { encoding: 'utf8' })
}

test('the bridge itself reads all options, and refuses what it does not know with its usage', () => {
  const further = ['--tls-folder', 'x', '--drain', '1s', '--instance', '1']
  const badPort = bridge(...further, '--metrics-port', 'no', '--', 'true')
  assert.deepEqual(
    [badPort.status, badPort.stderr],
    [2, `error: --metrics-port no is not a port\n${USAGE}\n`],
  )
  const unknown = bridge('--nonsense', '--', 'true')
  assert.equal(unknown.status, 2)
  assert.match(unknown.stderr, /Unknown option '--nonsense'[\s\S]*usage:/)
})

test('install takes the version of the package', () => {
  const { status, stderr } = bridge(
    'install',
    'npm',
    'greeter',
    '--version',
    '1.0.0',
    '--registry',
    'no',
    '--into',
    'x',
  )
  assert.deepEqual([status, stderr], [2, `error: --registry no is not a URL\n${USAGE}\n`])
})
