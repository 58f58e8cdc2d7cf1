/** The environment variables that servers inherit from the user. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inheritedEnvironment } from './environment.ts'

test('servers inherit the variables for programs, languages and proxies, but no tokens', () => {
  const inherited = {
    PATH: '/bin',
    HOME: '/home/me',
    LC_ALL: 'C',
    https_proxy: 'p',
    NO_PROXY: 'n',
    DOCKER_HOST: 'd',
  }
  const others = {
    GITHUB_TOKEN: 't',
    AWS_SECRET_ACCESS_KEY: 's',
    NODE_OPTIONS: '--inspect',
    PORTOLAN_CACHE: '/c',
    MY_PATH: 'x',
  }
  assert.deepEqual(inheritedEnvironment({ ...inherited, ...others }), inherited)
})
