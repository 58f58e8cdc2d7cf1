/** The console of a cluster, in a browser, through `portolan console`: every gateway, its servers, calls and tools. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { violationsOf } from '../../console/axe.ts'
import { openBrowser, openPage, skipBrowser } from '../../console/browser.ts'
import { startPortolan } from '../../support/portolan.ts'
import { until } from '../../support/until.ts'
import { fixture, gateway, secret, server } from '../support/manifests.ts'
import type { Namespace } from '../support/namespace.ts'
import { type Portolan, SYSTEM } from '../support/portolan.ts'
import type { Stories } from '../support/story.ts'

const TOKEN = 'of-somebody-at-the-console-0123456789ab'
const ROUTERS = 2

export const consoleStories: Stories = (running, { skip }) => {
  const options = { skip: skip || skipBrowser() }

  test('portolan console shows the gateways of a cluster, and changes nothing in it', options, async t => {
    const space = await running().namespace('shown', t)
    await space.apply(
      server('kit', { ...fixture(), env: [{ name: 'HUSH', value: 'hush-hush' }] }),
      server('sick', { image: { name: 'no-such-image:1', command: ['x'] } }),
      gateway('tools', { router: { replicas: ROUTERS } }),
      secret('people', { ann: TOKEN }),
      gateway('gated', {
        router: { replicas: 1 },
        auth: { tokens: { secretName: 'people' } },
        access: [{ name: 'ann', subjects: [{ kind: 'Token', name: 'ann' }], tools: { allow: ['echo'] } }],
      }),
    )
    await space.untilReady('kit')
    await space.untilServing('tools', { routers: ROUTERS })
    await space.untilServing('gated')
    const { base, stop } = await startConsole(running())
    t.after(stop)
    const browser = await openBrowser()
    t.after(() => browser.close())
    const { page, wrong } = await openPage(browser, base)
    await page.goto(base, { waitUntil: 'domcontentloaded' })

    await showsGateways(page)
    await page.locator('a[href$="gateway=shown/tools"]').click()
    await showsServers(page)
    await callsAndLogs(page, base)
    assert.deepEqual(wrong, [])
    await tellsCallersApart(page)
    await page.context().close()
    await isOnLoopbackOnly(running(), space)
  })
}

/** Starts the command, as a user does who has a kubeconfig. */
async function startConsole({ cluster }: Portolan): Promise<{ base: string; stop(): Promise<void> }> {
  const env = { KUBECONFIG: cluster.kubeconfig, NO_COLOR: '1' }
  const child = startPortolan(['console', '--namespace', SYSTEM, '--port', '0'], env)
  let output = ''
  child.stdout.on('data', text => {
    output += text
  })
  child.stderr.on('data', text => {
    output += text
  })
  const base = await until('it prints its address', async () => {
    if (child.exitCode !== null) throw new Error(output)
    return /http:\S+/.exec(output)?.[0]
  })
  return {
    base,
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      assert.deepEqual(await ended, [0, null])
    },
  }
}

async function showsGateways(page: Page): Promise<void> {
  await page.getByRole('heading', { name: 'Gateways' }).waitFor()
  const row = page.locator('table.gateways tbody tr', { hasText: 'shown' }).filter({ hasText: 'tools' })
  assert.match((await row.textContent()) ?? '', new RegExp(`ready.*1 of 2.*${ROUTERS}, up to date`))
  await page.getByText('shown/sick').first().waitFor()
  await page.getByText('kubectl -n shown describe mcpserver/sick').waitFor()
  await page.locator('table.cluster-servers').getByText('kit', { exact: true }).first().waitFor()
  // A long name in the list of gateways must not make the page wider than the window.
  await page.evaluate(
    `document.querySelector("select.choice").append(new Option("${'long-name-'.repeat(9)}"))`,
  )
  for (const width of [320, 1_280]) {
    await page.setViewportSize({ width, height: 800 })
    assert.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0)
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme })
      assert.deepEqual(await violationsOf(page), [], `${colorScheme} at ${width}`)
    }
  }
}

async function showsServers(page: Page): Promise<void> {
  await page.getByText(/through this gateway/).waitFor()
  await page.getByText('http://tools-gateway.shown.svc/mcp').waitFor()
  await page.getByRole('link', { name: 'Servers', exact: true }).click()
  await page.getByRole('link', { name: 'kit', exact: true }).click()
  await page.locator('header .state.ready').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Restart' }).count(), 0)
  await page.getByText('Restart, read again').click()
  await page.getByText('kubectl -n shown rollout restart deployment/mcp-kit').waitFor()
  await page.getByRole('tab', { name: 'Manifest' }).click()
  await page.getByText('(hidden)').waitFor()
  assert.doesNotMatch((await page.locator('main').textContent()) ?? '', /hush-hush/)
}

/** The calls go through the Service to any of the routers; the log shows the calls of all routers. */
async function callsAndLogs(page: Page, base: string): Promise<void> {
  await page.goto(`${base}?gateway=shown/tools#/try/kit%3Aecho`, { waitUntil: 'domcontentloaded' })
  const calls = 6
  for (let at = 0; at < calls; at++) {
    await page.getByLabel(/^text/).fill(`ahoy ${at}`)
    await page.getByRole('button', { name: 'Call', exact: true }).click()
    await page.locator('.answer', { hasText: `ahoy ${at}` }).waitFor()
  }
  await page.getByRole('link', { name: 'Log', exact: true }).click()
  await page.getByText(`${calls} of ${calls} calls`).waitFor()
  await page.locator('table.calls button.open').first().click()
  await page.getByText(/through tools-gateway-/).waitFor()
  await page.getByRole('link', { name: 'Search', exact: true }).click()
  await page.getByLabel('Query', { exact: true }).first().fill('say it again')
  await page.keyboard.press('Enter')
  await page.getByText('kit:echo').first().waitFor()
}

async function tellsCallersApart(page: Page): Promise<void> {
  await page.getByLabel('Gateway').selectOption('shown/gated')
  await page.getByRole('button', { name: 'Open', exact: true }).click()
  await page.getByRole('heading', { name: 'Log in' }).waitFor()
  await page.getByLabel('Bearer token').fill(TOKEN)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText(/1 tool of 1 server/).waitFor()
  await page.getByRole('link', { name: 'Tools', exact: true }).click()
  await page.getByRole('link', { name: 'kit:echo' }).waitFor()
  assert.equal(await page.getByText('kit:sleep').count(), 0)
  await page.getByRole('link', { name: 'Servers', exact: true }).click()
  await page.getByRole('link', { name: 'kit', exact: true }).click()
  await page.getByRole('tab', { name: 'Limits' }).waitFor()
  assert.equal(await page.getByRole('tab', { name: 'Manifest' }).count(), 0)
}

/** The page is not served at the address of the operator's pod, and routers refuse console data to all others than the operator. */
async function isOnLoopbackOnly({ system }: Portolan, space: Namespace): Promise<void> {
  const agent = await space.agent('tools')
  const [operator] = await system.pods('portolan')
  assert.ok(operator?.status?.podIP)
  const refused = await agent.script(
    `await fetch('http://${operator.status.podIP}:9443/').then(() => console.log('open'), error => console.log(error.cause?.code))`,
  )
  assert.match(refused, /ECONNREFUSED/)
  for (const headers of [undefined, { 'portolan-operator': 'Bearer of.nobody.x' }]) {
    const { status } = await agent.get('http://tools-gateway-admin.shown.svc:8081/console/tools', headers)
    assert.equal(status, 401)
  }
}
