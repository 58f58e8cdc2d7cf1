/** The chart, and the helm of the test cluster's build to render and install it with. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import type { KubeObject } from '../../core/kube/object.ts'
import { clientEnvironment } from '../cluster/clients.ts'
import { run } from '../cluster/command.ts'
import { clusterConfig } from '../cluster/config.ts'
import { programFolder } from '../cluster/programs.ts'

export const CHART = join(dirname(dirname(import.meta.dirname)), 'charts', 'portolan')
/** An API of Kubernetes 1.36 and newer. `helm template` asks no API server, so it has to be given. */
export const SIDECARS = 'admissionregistration.k8s.io/v1/MutatingAdmissionPolicy'

export type Values = Record<string, unknown>
export type Helm = {
  /** Runs helm; `values` are passed in a file. Resolves with stdout, throws with the end of stderr. */
  run(args: readonly string[], values?: Values): Promise<string>
  /** What would be installed as the release `portolan` in the namespace `portolan`, as text. */
  render(values?: Values, apiVersions?: readonly string[], chart?: string): Promise<string>
  end(): void
}

/** Helm with a temporary folder for its files; without a kubeconfig it reaches no cluster. */
export function helmAlone(kubeconfig = ''): Helm {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-helm-'))
  const program = join(programFolder(clusterConfig().cache), 'helm')
  const env = clientEnvironment(kubeconfig, folder)
  let files = 0
  const helm: Helm = {
    run: (args, values = {}) => {
      const file = join(folder, `values-${files++}.json`)
      writeFileSync(file, JSON.stringify(values))
      const given = Object.keys(values).length > 0 ? ['--values', file] : []
      return run([program, ...args, ...given], { env })
    },
    render: (values, apiVersions = [SIDECARS], chart = CHART) =>
      helm.run(
        [
          'template',
          'portolan',
          chart,
          '--namespace=portolan',
          ...apiVersions.map(v => `--api-versions=${v}`),
        ],
        values,
      ),
    end: () => rmSync(folder, { recursive: true, force: true }),
  }
  return helm
}

/** The objects of a rendered chart. */
export function objectsOf(rendered: string): KubeObject[] {
  return parseAllDocuments(rendered)
    .map(document => document.toJS() as KubeObject | null)
    .filter(object => object !== null)
}
