/** A real API server with its own etcd, on 127.0.0.1 and without nodes, for tests of API clients. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'yaml'
import type { Access } from '../../core/kube/access.ts'
import { KubeClient } from '../../core/kube/client.ts'
import { kubeconfigAccess } from '../../core/kube/kubeconfig.ts'
import type { KubeObject } from '../../core/kube/object.ts'
import { NOT_BUILT } from '../cluster/available.ts'
import { run } from '../cluster/command.ts'
import { clusterConfig } from '../cluster/config.ts'
import { apiServer, controllerManager } from '../cluster/control-plane.ts'
import { type Layout, logFile, outsideKubeconfig, program } from '../cluster/layout.ts'
import { writeCredentials, writeOutsideKubeconfig } from '../cluster/pki.ts'
import { programFolder, programsBuilt } from '../cluster/programs.ts'
import { freePort } from './free-port.ts'

/** A port that was free may be taken by another process before the API server listens on it. */
const MAX_TRIES = 3
const POLL_MS = 50
const START_LIMIT_MS = 60_000
/** Other files start theirs at the same time. */
const FILE_LIMIT_MS = 120_000
const PREFIX = 'portolan-api-'
const CRDS = ['mcpservers', 'mcpgateways', 'mcpscripts']

export type ApiServer = {
  access: Access
  /** Path of the administrator's kubeconfig. */
  kubeconfig: string
  /** A client with the administrator's permissions. It is closed with the server. */
  client: KubeClient
  /** Creates a namespace and returns its name. */
  namespace(name: string, labels?: Record<string, string>): Promise<string>
  /** Runs kubectl of the same version as administrator; resolves with stdout. */
  kubectl(args: readonly string[], input?: string): Promise<string>
  /** Kills the API server with SIGKILL; etcd keeps its data. */
  kill(): Promise<void>
  /** Kills the API server if it is running, starts it again, and waits until it is ready. */
  restart(): Promise<void>
  stop(): Promise<void>
}

/** The reason why such tests cannot run, for `skip` of node:test; otherwise false. */
export function skipApiServer(): false | string {
  const { cache, required } = clusterConfig()
  return required || programsBuilt(cache) ? false : `no API server: ${NOT_BUILT}`
}

/**
 * Starts etcd and the API server in about 4 s, with our CRDs. With `controllers`, the controller manager runs these of its
 * controllers: `garbage-collector-controller` deletes the dependents of deleted objects, `namespace-controller` empties namespaces.
 */
export async function startApiServer(
  options: { crds?: boolean; controllers?: string[] } = {},
): Promise<ApiServer> {
  sweep()
  for (let tries = MAX_TRIES; ; tries--) {
    const server = await boot(newLayout(), options.controllers ?? [])
    try {
      await server.restart()
      if (options.crds ?? true) await applyDefinitions(server)
      return server
    } catch (error) {
      await server.stop()
      if (tries === 1 || !String(error).includes('address already in use')) throw error
    }
  }
}

function newLayout(): Layout {
  const name = `${PREFIX}${process.pid}-${Math.random().toString(36).slice(2, 8)}`
  const folder = join(tmpdir(), name)
  mkdirSync(join(folder, 'log'), { recursive: true })
  return { name, folder, bin: programFolder(clusterConfig().cache), nodes: 0, family: 4 }
}

/** The API server of a file's tests: starts before the first, unless they are skipped, and ends after the last. To be called in tests. */
export function apiServerOfTests(
  skip: false | string,
  options: Parameters<typeof startApiServer>[0] = {},
): () => ApiServer {
  let server: ApiServer | undefined
  before(
    async () => {
      if (!skip) server = await startApiServer(options)
    },
    { timeout: FILE_LIMIT_MS },
  )
  after(() => server?.stop())
  return () => {
    if (!server) throw new Error('the API server only runs while tests run: call this in a test')
    return server
  }
}

/** Chooses ports, writes credentials and starts etcd. `restart` then starts the API server. */
async function boot(layout: Layout, controllers: string[]): Promise<ApiServer> {
  const [etcdPort, peerPort, port] = [await freePort(), await freePort(), await freePort()]
  await writeCredentials(layout)
  writeOutsideKubeconfig(layout, port)
  const kubeconfig = outsideKubeconfig(layout)
  const access = kubeconfigAccess({ file: kubeconfig })
  const client = new KubeClient(access)
  const start = (name: string, command: string[]) => startChild(layout, name, command)
  const etcd = start('etcd', etcdCommand(layout, etcdPort, peerPort))
  let api: ChildProcess | undefined
  let manager: ChildProcess | undefined
  const kubectl = (args: readonly string[], input?: string) =>
    run([program(layout, 'kubectl'), ...args], {
      input,
      env: { KUBECONFIG: kubeconfig, KUBECACHEDIR: join(layout.folder, 'kubectl') },
    })
  const kill = async () => {
    await Promise.all([end(api), end(manager)])
  }
  return {
    access,
    kubeconfig,
    client,
    kubectl,
    kill,
    async namespace(name, labels) {
      const metadata = { name, ...(labels ? { labels } : {}) }
      await client.apply({ apiVersion: 'v1', kind: 'Namespace', metadata }, { fieldManager: 'test' })
      return name
    },
    async restart() {
      await kill()
      api = start('apiserver', apiServerCommand(layout, etcdPort, port))
      await untilReady(layout, api, () => kubectl(['get', '--raw', '/readyz']))
      if (controllers.length > 0) manager = start('controller-manager', managerCommand(layout, controllers))
    },
    async stop() {
      await client.close()
      await kill()
      await end(etcd)
      rmSync(layout.folder, { recursive: true, force: true })
    },
  }
}

function etcdCommand(layout: Layout, port: number, peerPort: number): string[] {
  const [client, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`]
  return [
    program(layout, 'etcd'),
    `--data-dir=${join(layout.folder, 'etcd')}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    '--unsafe-no-fsync',
    '--log-level=warn',
  ]
}

/** The command line of the test cluster's API server, with other addresses. */
function apiServerCommand(layout: Layout, etcdPort: number, port: number): string[] {
  const moved = ['--etcd-servers=', '--bind-address=', '--secure-port=']
  return [
    ...apiServer(layout).command.filter(word => !moved.some(flag => word.startsWith(flag))),
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    '--endpoint-reconciler-type=none',
    '--disable-admission-plugins=ServiceAccount',
  ]
}

function managerCommand(layout: Layout, controllers: string[]): string[] {
  const kubeconfig = outsideKubeconfig(layout)
  return [
    ...controllerManager(layout).command.map(word => word.replace(/(kubeconfig=).*/, `$1${kubeconfig}`)),
    `--controllers=${controllers.join(',')}`,
    '--secure-port=0',
  ]
}

/** Starts a child that is killed when this process ends, however that happens. */
function startChild(layout: Layout, name: string, command: string[]): ChildProcess {
  const log = openSync(logFile(layout, name), 'a')
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...command], {
    stdio: ['ignore', log, log],
    env: { PATH: process.env.PATH, HOME: layout.folder },
  })
  closeSync(log)
  child.unref()
  return child
}

async function end(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.ref()
  child.kill('SIGKILL')
  await gone
}

async function untilReady(layout: Layout, child: ChildProcess, probe: () => Promise<unknown>): Promise<void> {
  const limit = performance.now() + START_LIMIT_MS
  for (;;) {
    try {
      await probe()
      return
    } catch (cause) {
      const ended = child.exitCode !== null || child.signalCode !== null
      if (ended || performance.now() > limit) {
        const log = readFileSync(logFile(layout, 'apiserver'), 'utf8').slice(-3_000)
        throw new Error(`the API server did not become ready:\n${log}`, { cause })
      }
      await sleep(POLL_MS)
    }
  }
}

async function applyDefinitions({ client, kubectl }: ApiServer): Promise<void> {
  for (const plural of CRDS) {
    const file = new URL(`../../crds/portolan.dev_${plural}.yaml`, import.meta.url)
    await client.apply<KubeObject>(parse(readFileSync(file, 'utf8')), { fieldManager: 'test' })
  }
  const names = CRDS.map(plural => `crd/${plural}.portolan.dev`)
  await kubectl(['wait', '--for=condition=Established', '--timeout=30s', ...names])
}

/** Removes the folders of test processes that were killed; their children are no longer running. */
function sweep(): void {
  for (const name of readdirSync(tmpdir())) {
    const owner = name.startsWith(PREFIX) && /^(\d+)-/.exec(name.slice(PREFIX.length))?.[1]
    if (owner && !existsSync(`/proc/${owner}`)) rmSync(join(tmpdir(), name), { recursive: true, force: true })
  }
}
