/** Dashboards and alerts on a real cluster: Prometheus scrapes by the chart's PodMonitors while an agent in a pod is at work. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { V1Pod } from '@kubernetes/client-node'
import type { Kube } from '../../core/kube/object.ts'
import { CHART, helmAlone, objectsOf } from '../chart/helm.ts'
import type { OwnCluster } from '../cluster/cluster.ts'
import { type Agent, execution, use } from '../e2e/support/agent.ts'
import { fixture, gateway, server } from '../e2e/support/manifests.ts'
import type { Namespace } from '../e2e/support/namespace.ts'
import { SYSTEM } from '../e2e/support/portolan.ts'
import type { Stories } from '../e2e/support/story.ts'
import { assertPanelsShowData, assertRulesAreEvaluated } from './answers.ts'
import { readyPrometheus } from './programs.ts'
import { type Place, startPrometheus } from './prometheus.ts'
import { configOfPodMonitors, type PodMonitor } from './scrape.ts'
import { ALERT_FILES } from './shipped.ts'
import { WITH_CALLERS } from './system.ts'

const PAUSE_MS = 200
/** Nothing listens there. */
const UNREACHABLE = 'http://127.0.0.1:9/mcp'
/** Reads the bodies of the URLs on its stdin. */
const GET_ALL = `
  const urls = JSON.parse(require('node:fs').readFileSync(0, 'utf8'))
  Promise.all(urls.map(async url => (await fetch(url)).text())).then(all => process.stdout.write(JSON.stringify(all)))
`

export const monitoringStories: Stories = (running, options) => {
  test('panels show data and alerts are evaluated, by what PodMonitors select', options, async t => {
    const programs = await readyPrometheus()
    if (!programs) return t.skip('no Prometheus: apt-get download prometheus')
    const { cluster } = running()
    const space = await running().namespace('monitored', t)
    await space.apply(
      server('kit', fixture()),
      server('down', { remote: { url: UNREACHABLE } }),
      server('sleeper', { ...fixture(), scaling: { min: 0, idleAfter: '1s' } }),
      gateway('tools', WITH_CALLERS),
    )
    await space.untilReady('kit')
    await space.untilServing('tools', { ready: 2 })
    const { items: pods } = await running().client.list<Kube<V1Pod>>({ apiVersion: 'v1', kind: 'Pod' })
    const config = configOfPodMonitors(await podMonitors(), pods, ALERT_FILES)
    const place = placeIn(cluster)
    const prometheus = await startPrometheus({ prometheus: programs.prometheus, config, place })
    t.after(() => prometheus.stop())
    const stopping = new AbortController()
    const agent = await space.agent('tools')
    const working = Promise.all([work(space, agent, stopping.signal), wake(space, agent, stopping.signal)])
    const all = { namespace: '.*', gateway: '.*' }
    try {
      await assertPanelsShowData(prometheus, { ...all, server: 'kit' }, { ...all, server: 'sleeper' })
      const rules = await assertRulesAreEvaluated(prometheus)
      const active = rules.flatMap(({ alerts }) => alerts.map(({ labels }) => labels))
      const onServers = active.filter(({ namespace, server }) => namespace === space.name && server)
      assert.deepEqual(
        onServers.map(({ alertname, server }) => [alertname, server]),
        [['PortolanDiscoveryFailing', 'down']],
      )
    } finally {
      stopping.abort()
      await working
    }
  })
}

/** Those that the chart renders. */
async function podMonitors(): Promise<PodMonitor[]> {
  const helm = helmAlone()
  try {
    const rendered = await helm.run([
      ...['template', 'portolan', CHART, '--namespace', SYSTEM],
      ...[
        '--show-only',
        'templates/monitoring/pod-monitors.yaml',
        '--set',
        'monitoring.podMonitors.enabled=true,monitoring.from[0].namespaceSelector.matchLabels.name=monitoring',
      ],
    ])
    return objectsOf(rendered) as PodMonitor[]
  } finally {
    helm.end()
  }
}

function placeIn(cluster: OwnCluster): Place {
  return {
    inside: command => cluster.inside(command),
    get: async urls => {
      const input = JSON.stringify(urls)
      return JSON.parse(await cluster.run([process.execPath, '--eval', GET_ALL], { input })) as string[]
    },
  }
}

/** Searches, makes calls that succeed and calls that fail, and changes a server so that the operator writes, until `signal` aborts. */
async function work(space: Namespace, agent: Agent, signal: AbortSignal): Promise<void> {
  for (let round = 0; !signal.aborted; round++) {
    await agent.session(
      { method: 'tools/list' },
      use('discover_mcp_tools', { query: 'environment' }),
      execution('kit:environment', {}),
      execution('kit:nothing', {}),
      // Once, so that there is a series of errors: more of them would be alerted.
      ...(round === 0 ? [execution('kit:error', {})] : []),
    )
    await space.apply(server('down', { remote: { url: UNREACHABLE }, description: `Changed ${round} times` }))
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => {})
  }
}

/** Calls the sleeper whenever it sleeps. */
async function wake(space: Namespace, agent: Agent, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { conditions = [] } = (await space.server('sleeper'))?.status ?? {}
    if (conditions.some(({ type, reason }) => type === 'Ready' && reason === 'Asleep'))
      await agent.call('sleeper:echo', { text: 'wake up' })
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => {})
  }
}
