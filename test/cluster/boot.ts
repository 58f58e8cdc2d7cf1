/** Starts the parts of a cluster in order, until its nodes are ready. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createCgroup } from './cgroups.ts'
import { run } from './command.ts'
import { apiServer, controllerManager, coreDns, etcd, scheduler } from './control-plane.ts'
import { type Daemon, startDaemon, untilServing } from './daemon.ts'
import { forward } from './forward.ts'
import { writeImage } from './image.ts'
import { commandInside, environmentInside, writeNameServerFile } from './inside.ts'
import { API_PORT, addressesOf, type Layout, nodeName, nodeNumbers, PAUSE_IMAGE, program } from './layout.ts'
import { createNamespaces } from './namespace.ts'
import { createNetwork } from './network.ts'
import { containerd, importImage, kubelet, kubeProxy, podsCgroup } from './node.ts'
import { writeCredentials, writeOutsideKubeconfig } from './pki.ts'

const SERVE_LIMIT_SECONDS = 90
const READY_LIMIT = '--timeout=120s'

/** Every program of a cluster. */
export function daemonsOf(layout: Layout): Daemon[] {
  return [...foundation(layout), ...onTop(layout)]
}

/** Starts everything and waits until the nodes are ready and pods can be made. */
export async function bootCluster(layout: Layout, say: (line: string) => void): Promise<void> {
  const started = performance.now()
  const tell = (what: string) => say(`${what} after ${((performance.now() - started) / 1_000).toFixed(1)} s`)
  await prepare(layout)
  await startAll(layout, foundation(layout))
  tell('API server ready')
  await importPause(layout)
  await startAll(layout, onTop(layout))
  const { port } = await forward(layout, addressesOf(layout).control, API_PORT)
  writeOutsideKubeconfig(layout, port)
  await untilReady(layout)
  tell(layout.nodes === 1 ? 'node ready' : `${layout.nodes} nodes ready`)
}

/** What must serve before the others can start. */
function foundation(layout: Layout): Daemon[] {
  return [etcd(layout), apiServer(layout), ...nodeNumbers(layout).map(node => containerd(layout, node))]
}

function onTop(layout: Layout): Daemon[] {
  const nodes = nodeNumbers(layout).flatMap(node => [kubelet(layout, node), kubeProxy(layout, node)])
  return [controllerManager(layout), scheduler(layout), coreDns(layout), ...nodes]
}

async function startAll(layout: Layout, daemons: Daemon[]): Promise<void> {
  await Promise.all(daemons.map(daemon => startDaemon(layout, daemon)))
  await Promise.all(daemons.map(daemon => untilServing(layout, daemon, SERVE_LIMIT_SECONDS)))
}

async function prepare(layout: Layout): Promise<void> {
  mkdirSync(join(layout.folder, 'log'), { recursive: true })
  writeNameServerFile(layout)
  const namespaces = nodeNumbers(layout).map(node => {
    createCgroup(podsCgroup(layout, node))
    return createNamespaces(layout, node)
  })
  await Promise.all([writeCredentials(layout), ...namespaces])
  await createNetwork(layout)
  writeFileSync(join(layout.folder, 'cluster.json'), JSON.stringify(layout))
}

/** Every pod needs a program that holds its namespaces. */
async function importPause(layout: Layout): Promise<void> {
  const archive = join(layout.folder, 'pause.tar')
  const layers = [{ '/pause': { from: program(layout, 'pause') } }]
  await writeImage({ reference: PAUSE_IMAGE, layers, entrypoint: ['/pause'] }, archive)
  await Promise.all(nodeNumbers(layout).map(node => importImage(layout, node, archive)))
}

async function untilReady(layout: Layout): Promise<void> {
  const env = environmentInside(layout)
  const wait = (...args: string[]) =>
    run(commandInside(layout, ['kubectl', 'wait', READY_LIMIT, ...args]), { env })
  const nodes = nodeNumbers(layout).map(node => `node/${nodeName(node)}`)
  await wait('--for=create', 'serviceaccount/default', '--namespace=default')
  await wait('--for=create', ...nodes)
  await wait('--for=condition=Ready', ...nodes)
}
