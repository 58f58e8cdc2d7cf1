/** The chart as it is rendered: what each value changes, and what is refused. */
import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import type { V1ConfigMap, V1Deployment, V1EnvVar, V1Job } from '@kubernetes/client-node'
import { parse } from 'yaml'
import type { Kube } from '../../core/kube/object.ts'
import { readConfig } from '../../operator/config.ts'
import { skipApiServer } from '../support/api-server.ts'
import { CASES, GENERATED, WRONG } from './cases.ts'
import { CHART, helmAlone, objectsOf, type Values } from './helm.ts'

const skip = skipApiServer()
const GOLDEN = join(dirname(import.meta.dirname), 'golden', 'chart')
const helm = helmAlone()
after(() => helm.end())
let byDefault: Promise<string> | undefined
const defaults = () => {
  byDefault ??= helm.render()
  return byDefault
}

test('helm lint --strict passes', { skip }, async () => {
  assert.match(await helm.run(['lint', '--strict', CHART]), /0 chart\(s\) failed/)
})

test('the default chart renders as in its golden file', { skip }, async t => {
  t.assert.fileSnapshot(await defaults(), join(GOLDEN, 'default.yaml'), { serializers: [String] })
})

for (const [name, values] of Object.entries(CASES)) {
  test(`the values ${name} change what they name and nothing else`, { skip }, async t => {
    const change = difference(await defaults(), await helm.render(values))
    t.assert.fileSnapshot(change, join(GOLDEN, `${name}.yaml`), { serializers: [String] })
  })
}

for (const [name, values] of Object.entries<Values>({ defaults: {}, ...CASES })) {
  test(`the operator's environment is valid with the values ${name}`, { skip }, async () => {
    const env = operatorEnv(await helm.render(values))
    const config = readConfig({
      env: Object.fromEntries(env.map(({ name, value = 'field' }) => [name, value])),
    })
    assert.deepEqual(config.namespaces, values.watchNamespaces ?? 'all')
    assert.ok(config.settings.resources.install.limits?.memory)
  })
}

test('the chart sets every variable that the operator reads, and no other', { skip }, async () => {
  const { 'air-gapped': airGapped } = CASES
  const names = operatorEnv(await helm.render(airGapped)).map(({ name }) => name)
  const ours = names.filter(name => name.startsWith('PORTOLAN_'))
  const source = readFileSync(join(CHART, '..', '..', 'operator', 'config.ts'), 'utf8')
  const known = new Set([...source.matchAll(/^ {2}(PORTOLAN_\w+):/gm)].map(([, name]) => name))
  assert.deepEqual(ours.sort(), [...known].sort())
})

test('the Job that applies the CRDs runs where the operator does, with its resources, labels and annotations', {
  skip,
}, async () => {
  const { 'operator-in-its-place': values } = CASES
  const objects = objectsOf(await helm.render(values))
  const podOf = (kind: string) =>
    (objects.find(object => object.kind === kind) as Kube<V1Deployment | V1Job>).spec?.template
  const placed = (kind: string) => {
    const { metadata, spec } = podOf(kind) ?? {}
    const { nodeSelector, tolerations, affinity, priorityClassName, containers = [] } = spec ?? {}
    const { 'example.com/team': annotation } = metadata?.annotations ?? {}
    const placement = { nodeSelector, tolerations, affinity, priorityClassName }
    return { ...placement, team: metadata?.labels?.team, annotation, resources: containers[0]?.resources }
  }
  assert.deepEqual(placed('Job'), placed('Deployment'))
  assert.equal(placed('Job').resources?.limits?.cpu, '1')
  assert.equal(podOf('Job')?.metadata?.labels?.['app.kubernetes.io/component'], 'crds')
})

test('for an API server without MutatingAdmissionPolicy the chart is rendered as with sidecars disabled', {
  skip,
}, async () => {
  const older = await helm.render({}, [])
  assert.equal(older, await helm.render({ sidecar: { enabled: false } }))
})

for (const { title, values, says } of WRONG) {
  test(`refused: ${title}`, { skip }, async () => {
    await assert.rejects(helm.render(values), { message: says })
  })
}

test('dashboards and alerts are shipped unchanged', { skip }, async t => {
  const chart = mkdtempSync(join(tmpdir(), 'portolan-chart-'))
  t.after(() => rmSync(chart, { recursive: true }))
  cpSync(CHART, chart, { recursive: true })
  const dashboard = '{ "title": "{{ server }} is \\"down\\"" }\n'
  const alerts =
    'groups:\n  - name: probe\n    rules:\n      - { alert: Probe, expr: up == 0, annotations: { summary: "{{ $labels.pod }}" } }\n'
  mkdirSync(join(chart, 'dashboards'), { recursive: true })
  mkdirSync(join(chart, 'alerts'), { recursive: true })
  writeFileSync(join(chart, 'dashboards', 'probe.json'), dashboard)
  writeFileSync(join(chart, 'alerts', 'probe.yaml'), alerts)
  const objects = objectsOf(await helm.render(GENERATED, undefined, chart))
  const named = (name: string) => objects.find(({ metadata }) => metadata.name === name)
  const map = named('portolan-dashboard-probe') as Kube<V1ConfigMap>
  assert.deepEqual(map.data, { 'portolan-probe.json': dashboard })
  assert.equal(map.metadata.labels?.grafana_dashboard, '1')
  assert.equal(map.metadata.annotations?.grafana_folder, 'Portolan')
  assert.deepEqual((named('portolan-probe') as unknown as { spec: object }).spec, parse(alerts))
})

test('with runbookUrl alerts have an absolute runbook_url', { skip }, async () => {
  const runbookUrl = 'https://docs.example.com/portolan/metrics'
  const rendered = await helm.render({ monitoring: { alerts: { enabled: true, runbookUrl } } })
  const rules = objectsOf(rendered)
    .filter(({ kind }) => kind === 'PrometheusRule')
    .flatMap(object => (object as unknown as PrometheusRule).spec.groups.flatMap(group => group.rules))
  assert.ok(rules.length > 0)
  for (const { alert, annotations } of rules) {
    assert.equal(annotations.runbook_url, `${runbookUrl}#${alert.toLowerCase()}`)
    assert.equal(annotations.runbook, undefined)
  }
})

test('NOTES say what to do next, with the names of this release', { skip }, async t => {
  const install = ['install', 'portolan', CHART, '--namespace=portolan', '--dry-run=client', '--hide-secret']
  const notes = async (values: object) => (await helm.run(install, { ...values })).split('NOTES:\n')[1] ?? ''
  const { 'gateway-with-servers': gateway, 'air-gapped': airGapped } = CASES
  const texts = [await notes({}), await notes({ ...gateway, ...airGapped, sidecar: { enabled: false } })]
  t.assert.fileSnapshot(texts.join('\n--------\n'), join(GOLDEN, 'notes.txt'), { serializers: [String] })
})

type PrometheusRule = {
  spec: { groups: { rules: { alert: string; annotations: Record<string, string> }[] }[] }
}

function operatorEnv(rendered: string): V1EnvVar[] {
  const deployment = objectsOf(rendered).find(({ kind }) => kind === 'Deployment') as
    | Kube<V1Deployment>
    | undefined
  return deployment?.spec?.template.spec?.containers[0]?.env ?? []
}

/** The objects that are new or different in the second text, and the names of those that only the first one has. */
function difference(first: string, second: string): string {
  const [before, now] = [documents(first), documents(second)]
  const gone = [...before.keys()].filter(name => !now.has(name)).map(name => `# not made: ${name}\n`)
  const other = [...now].filter(([name, text]) => before.get(name) !== text).map(([, text]) => `---\n${text}`)
  return [...gone, ...other].join('')
}

function documents(rendered: string): Map<string, string> {
  const texts = rendered.split(/^---\n/m).filter(text => objectsOf(text).length > 0)
  return new Map(
    texts.map(text => {
      const [{ kind, metadata } = { kind: '', metadata: { name: '' } }] = objectsOf(text)
      return [[kind, metadata.namespace, metadata.name].filter(Boolean).join(' '), text]
    }),
  )
}
