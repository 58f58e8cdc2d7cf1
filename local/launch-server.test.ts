/** What servers get of the user's environment. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inheritedEnvironment } from './launch-server.ts'

test('servers get the variables for programs, languages and proxies, and no tokens', () => {
  const kept = {
    PATH: '/bin',
    HOME: '/home/me',
    LC_ALL: 'C',
    https_proxy: 'p',
    NO_PROXY: 'n',
    DOCKER_HOST: 'd',
  }
  const left = {
    GITHUB_TOKEN: 't',
    AWS_SECRET_ACCESS_KEY: 's',
    NODE_OPTIONS: '--inspect',
    PORTOLAN_CACHE: '/c',
    MY_PATH: 'x',
  }
  assert.deepEqual(inheritedEnvironment({ ...kept, ...left }), kept)
})
