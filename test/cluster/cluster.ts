/** A real Kubernetes for tests: starts it in its own namespaces, lets later processes find it, breaks parts of it on purpose, ends it. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bootCluster, daemonsOf } from './boot.ts'
import { type CommandOptions, run } from './command.ts'
import { type ClusterConfig, clusterConfig } from './config.ts'
import { type Daemon, isRunning, killDaemon, startDaemon, untilServing } from './daemon.ts'
import { existingCluster } from './existing.ts'
import { type Forward, forward } from './forward.ts'
import { commandInside, environmentInside } from './inside.ts'
import {
  type Addresses,
  addressesOf,
  DNS_DOMAIN,
  type Family,
  type Layout,
  logFile,
  MAX_NODES,
  nodeName,
  nodeNumbers,
  outsideKubeconfig,
} from './layout.ts'
import { obstacleToRunning } from './machine.ts'
import { insideNode } from './namespace.ts'
import { setLink } from './network.ts'
import { importImage } from './node.ts'
import { readyPrograms } from './programs.ts'
import { endCluster, endOrphans, testClusterName } from './sweep.ts'

const RESTART_LIMIT_SECONDS = 60

export type Service = { namespace: string; name: string; port: number }

/** What tests may do with any cluster. */
export type Cluster = {
  /** True for one that was made for the test and may be broken by it. */
  own: boolean
  /** Path of a kubeconfig for clients in this process. */
  kubeconfig: string
  /** Runs a command of the machine (`kubectl`, `helm` …), in an own cluster inside its network; resolves with stdout. */
  run(command: readonly string[], options?: CommandOptions): Promise<string>
  /** Makes the images of a docker archive known to every node; use them with `imagePullPolicy: Never`. */
  importImage(archive: string): Promise<void>
  /** Opens a port of 127.0.0.1 that leads to a Service. */
  forward(service: Service): Promise<Forward>
  stop(): Promise<void>
}

export type ClusterNode = {
  name: string
  address: string
  /** Runs a command in the node's network and mounts. */
  run(command: readonly string[]): Promise<string>
  /** Cuts the node off from all others; not for the first, which carries the control plane. */
  linkDown(): Promise<void>
  linkUp(): Promise<void>
}

/** A component is `etcd`, `apiserver`, `controller-manager`, `scheduler`, `coredns` or `node1/kubelet`, `node1/containerd` … */
export type OwnCluster = Cluster & {
  own: true
  name: string
  addresses: Addresses
  nodes: ClusterNode[]
  /** Nodes count from 1. */
  node(number: number): ClusterNode
  /** How to run a command inside its network, for callers that spawn it themselves. */
  inside(command: readonly string[]): { command: string[]; env: Record<string, string> }
  components: string[]
  /** Ends a component by SIGKILL. */
  kill(component: string): Promise<void>
  start(component: string): Promise<void>
  /** Kills and starts a component, and waits until it serves. */
  restart(component: string): Promise<void>
  running(component: string): boolean
  /** The whole log of a component. */
  log(component: string): string
}

export type StartOptions = {
  name?: string
  nodes?: number
  /** Default: IPv4. */
  family?: Family
  config?: ClusterConfig
  say?: (line: string) => void
}

/** The cluster that the environment names, else one of the test's own. */
export async function useCluster(options: StartOptions = {}): Promise<Cluster | OwnCluster> {
  const { context } = options.config ?? clusterConfig()
  return context ? existingCluster(context) : startCluster(options)
}

/** Builds what is not built yet and starts a cluster; ends first what killed tests left behind. */
export async function startCluster(options: StartOptions = {}): Promise<OwnCluster> {
  const {
    name = testClusterName(),
    nodes = 1,
    family = 4,
    config = clusterConfig(),
    say = () => {},
  } = options
  if (!/^[a-z0-9-]{1,30}$/.test(name)) throw new Error(`not a valid cluster name: ${name}`)
  if (!Number.isInteger(nodes) || nodes < 1 || nodes > MAX_NODES)
    throw new Error(`1 to ${MAX_NODES} nodes, not ${nodes}`)
  const obstacle = obstacleToRunning()
  if (obstacle) throw new Error(obstacle)
  await endOrphans(config.folder)
  await endCluster(config.folder, name)
  const bin = await readyPrograms(config.cache)
  const layout: Layout = { name, folder: join(config.folder, name), bin, nodes, family }
  try {
    await bootCluster(layout, say)
  } catch (error) {
    await endCluster(config.folder, name)
    throw error
  }
  return ownCluster(layout, config)
}

/** A running cluster that some process started, or undefined. */
export function openCluster(config: ClusterConfig, name: string): OwnCluster | undefined {
  const layout = layoutOf(config, name)
  return layout && ownCluster(layout, config)
}

function layoutOf(config: ClusterConfig, name: string): Layout | undefined {
  const file = join(config.folder, name, 'cluster.json')
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Layout) : undefined
}

function ownCluster(layout: Layout, config: ClusterConfig): OwnCluster {
  const nodes = nodeNumbers(layout).map(number => clusterNode(layout, number))
  return {
    own: true,
    name: layout.name,
    addresses: addressesOf(layout),
    kubeconfig: outsideKubeconfig(layout),
    nodes,
    node: number => {
      const node = nodes[number - 1]
      if (!node) throw new Error(`there is no node ${number}`)
      return node
    },
    run: (command, options) =>
      run(commandInside(layout, command), {
        ...options,
        env: { ...options?.env, ...environmentInside(layout) },
      }),
    importImage: async archive => {
      await Promise.all(nodeNumbers(layout).map(node => importImage(layout, node, archive)))
    },
    forward: ({ namespace, name, port }) => forward(layout, `${name}.${namespace}.svc.${DNS_DOMAIN}`, port),
    stop: () => endCluster(config.folder, layout.name),
    inside: command => ({ command: commandInside(layout, command), env: environmentInside(layout) }),
    ...components(layout),
  }
}

function components(
  layout: Layout,
): Pick<OwnCluster, 'components' | 'kill' | 'start' | 'restart' | 'running' | 'log'> {
  const kill = (component: string) => killDaemon(layout, daemonNamed(layout, component))
  const start = (component: string) => startDaemon(layout, daemonNamed(layout, component))
  return {
    components: daemonsOf(layout).map(daemon => daemon.name),
    kill,
    start,
    restart: async component => {
      await kill(component)
      await start(component)
      await untilServing(layout, daemonNamed(layout, component), RESTART_LIMIT_SECONDS)
    },
    running: component => isRunning(layout, daemonNamed(layout, component)),
    log: component => readFileSync(logFile(layout, component), 'utf8'),
  }
}

function daemonNamed(layout: Layout, name: string): Daemon {
  const all = daemonsOf(layout)
  const found = all.find(daemon => daemon.name === name)
  if (!found) throw new Error(`no component ${name}: there are ${all.map(daemon => daemon.name).join(', ')}`)
  return found
}

function clusterNode(layout: Layout, node: number): ClusterNode {
  return {
    name: nodeName(node),
    address: addressesOf(layout).node(node),
    run: command => run(insideNode(layout, node, command), { env: environmentInside(layout) }),
    linkDown: () => setLink(layout, node, 'down'),
    linkUp: () => setLink(layout, node, 'up'),
  }
}
