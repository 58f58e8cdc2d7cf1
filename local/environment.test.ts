/** The environment variables that servers inherit from the user. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inheritedEnvironment, installerEnvironment } from './environment.ts'

test('servers inherit the variables for programs, languages and proxies, but no tokens', () => {
  const inherited = {
    PATH: '/bin',
    HOME: '/home/me',
    LC_ALL: 'C',
    https_proxy: 'p',
    NO_PROXY: 'n',
    DOCKER_HOST: 'd',
    PLAYWRIGHT_BROWSERS_PATH: '/b',
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

test('install scripts also get the settings of installers and of downloads, but no tokens of other programs', () => {
  const passed = {
    PATH: '/bin',
    npm_config_registry: 'r',
    PUPPETEER_SKIP_DOWNLOAD: '1',
    PUPPETEER_SKIP_CHROMIUM_DOWNLOAD: '1',
    PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
    PLAYWRIGHT_DOWNLOAD_HOST: 'h',
    ELECTRON_MIRROR: 'm',
    CYPRESS_INSTALL_BINARY: '0',
  }
  const others = { GITHUB_TOKEN: 't', PLAYWRIGHT_SERVICE_ACCESS_TOKEN: 't', PORTOLAN_TOKEN: 't' }
  assert.deepEqual(installerEnvironment({ ...passed, ...others }), passed)
})
