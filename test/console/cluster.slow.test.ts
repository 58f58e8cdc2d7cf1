/** The console of a cluster in a browser: the operator's server, with a laptop's gateway as the only router. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { request } from 'undici'
import { systemClock } from '../../core/async.ts'
import type { ConsoleClusterEvents, ConsoleClusterServer, ConsoleGateway } from '../../core/console/shapes.ts'
import { createLog } from '../../core/log.ts'
import type { ClusterView, Router } from '../../operator/console/cluster-view.ts'
import { serveConsole } from '../../operator/console/console-server.ts'
import type { RouterClient } from '../../operator/console/router-client.ts'
import { violationsOf } from './axe.ts'
import { openBrowser, openPage, skipBrowser } from './browser.ts'
import { startConsole } from './gateway.ts'

const skip = skipBrowser()
const DRAWN = 500

const gatewayNamed = (name: string): ConsoleGateway => ({
  ...{ namespace: 'team', name, ready: true, servers: { selected: 1, ready: 1 }, tools: 1, tokens: {} },
  ...{ routers: [], auth: false, conditions: [] },
})
const serverOf = (at: number): ConsoleClusterServer => ({
  ...{ namespace: 'team', name: `server-${`${at}`.padStart(3, '0')}`, ready: true },
  ...{ tools: 1, tokens: at, conditions: [] },
})

/** A page of the console of the cluster. The pod `one` is a laptop's gateway, `router`; `setRouters` says which pods there are. */
async function openCluster(t: TestContext, cluster: Partial<ConsoleClusterEvents['cluster']> = {}) {
  const router = await startConsole()
  t.after(router.close)
  const one = { pod: 'one', address: router.base }
  let routers: Router[] = [one]
  const state = {
    version: '1',
    gateways: [gatewayNamed('tools'), gatewayNamed('others')],
    servers: [],
    ...cluster,
  }
  const view = {
    ...{ version: () => 1, state: () => state, hasGateway: () => true },
    routers: () => routers,
  } as unknown as ClusterView
  const client = {
    ask: (
      address: string,
      path: string,
      { method, body, signal, headers }: Parameters<RouterClient['ask']>[2],
    ) => request(`${address}console/${path}`, { method, body, signal, headers }),
    close: async () => {},
  } as RouterClient
  const log = createLog({ level: 'silent' })
  const options = { page: router.page, view, client, port: 0, log, clock: systemClock, random: () => 0 }
  const { port, close } = await serveConsole(options)
  t.after(close)
  const browser = await openBrowser()
  t.after(() => browser.close())
  const base = `http://127.0.0.1:${port}/`
  const setRouters = (...all: Router[]) => {
    routers = all
  }
  return { ...(await openPage(browser, base)), base, router, one, setRouters }
}

const header = (page: Page) => page.locator('header .word')

test('a gateway without routers is not shown as ready, nor with old data', { skip }, async t => {
  const { page, base, one, setRouters, end } = await openCluster(t)
  await page.goto(`${base}?gateway=team/tools#/servers`)
  await page.getByRole('link', { name: 'polite', exact: true }).waitFor()
  assert.equal(await header(page).textContent(), 'ready')
  setRouters()
  await page.getByRole('alert').getByText('No router of this gateway is ready').waitFor()
  assert.equal(await header(page).textContent(), 'unreachable')
  assert.equal(await page.getByRole('link', { name: 'polite', exact: true }).count(), 0)
  setRouters(one)
  await page.getByRole('link', { name: 'polite', exact: true }).waitFor()
  assert.equal(await header(page).textContent(), 'ready')
  await end()
})

test('if no router answers, the page says that its data may be old', { skip }, async t => {
  const { page, base, router, one, setRouters, end } = await openCluster(t)
  await page.goto(`${base}?gateway=team/tools#/servers`)
  const server = page.getByRole('link', { name: 'polite', exact: true })
  const alert = page.getByRole('alert')
  await server.waitFor()
  setRouters(one, { pod: 'two', address: 'http://127.0.0.1:1/' })
  await router.close()
  await alert.getByText('What follows may be old.').waitFor()
  await server.waitFor()
  assert.equal(await header(page).textContent(), 'unreachable')
  assert.deepEqual(await violationsOf(page), [])
  await end()
})

test('a gateway is opened by a button, not by a key in the list', { skip }, async t => {
  const { page, base, end } = await openCluster(t)
  await page.setViewportSize({ width: 320, height: 800 })
  await page.goto(base)
  const list = page.getByLabel('Gateway', { exact: true })
  await list.getByRole('option', { name: 'team/others' }).waitFor({ state: 'attached' })
  await list.selectOption('team/tools')
  await list.selectOption('team/others')
  assert.equal(page.url().replace(/#.*/, ''), base)
  assert.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0)
  assert.deepEqual(await violationsOf(page), [])
  await page.getByRole('button', { name: 'Open', exact: true }).click()
  await page.waitForURL(/\?gateway=team\/others/)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await end()
})

test('all servers of a cluster are sorted, and the page says how many it does not draw', {
  skip,
}, async t => {
  const servers = Array.from({ length: DRAWN + 20 }, (_none, at) => serverOf(at))
  const { page, base, end } = await openCluster(t, { servers })
  await page.goto(`${base}#/gateways?sort=-tokens`)
  await page.getByText('and 20 more: filter them').waitFor()
  const rows = page.locator('table.cluster-servers tbody tr')
  assert.equal(await rows.count(), DRAWN)
  assert.match((await rows.first().textContent()) ?? '', new RegExp(`server-${DRAWN + 19}`))
  await end()
})
