/** Builds the cluster's programs from Go modules with pinned versions, once for each version of their sources. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { withProgress } from '../support/progress.ts'
import { run } from './command.ts'
import { obstacleToBuilding } from './machine.ts'

const SOURCES = join(import.meta.dirname, 'programs')
const FLAGS = ['-trimpath', '-buildvcs=false']
export const BUILDING = 'building Kubernetes and helm from Go modules'
export const BUILD_TAKES = 'about 15 minutes on two cores'
const VERSION = 'k8s.io/component-base/version'
const KUBERNETES = 'k8s.io/kubernetes/cmd'
const CONTAINERD = 'github.com/containerd/containerd/v2/cmd'
const PLUGINS = 'github.com/containernetworking/plugins/plugins'

/** Two modules: the second's newer golang.org/x would force the first to be compiled again. */
type Program = { name: string; module: 'kubernetes' | 'runtime'; package: string; cgo?: boolean }

const PROGRAMS: readonly Program[] = [
  { name: 'containerd', module: 'runtime', package: `${CONTAINERD}/containerd` },
  { name: 'containerd-shim-runc-v2', module: 'runtime', package: `${CONTAINERD}/containerd-shim-runc-v2` },
  { name: 'ctr', module: 'runtime', package: `${CONTAINERD}/ctr` },
  { name: 'ptp', module: 'runtime', package: `${PLUGINS}/main/ptp` },
  { name: 'loopback', module: 'runtime', package: `${PLUGINS}/main/loopback` },
  { name: 'host-local', module: 'runtime', package: `${PLUGINS}/ipam/host-local` },
  { name: 'coredns', module: 'runtime', package: './dns' },
  { name: 'pause', module: 'runtime', package: './pause' },
  { name: 'runc', module: 'runtime', package: 'github.com/opencontainers/runc', cgo: true },
  { name: 'etcd', module: 'kubernetes', package: 'go.etcd.io/etcd/server/v3' },
  { name: 'kube-apiserver', module: 'kubernetes', package: `${KUBERNETES}/kube-apiserver` },
  { name: 'kube-controller-manager', module: 'kubernetes', package: `${KUBERNETES}/kube-controller-manager` },
  { name: 'kube-scheduler', module: 'kubernetes', package: `${KUBERNETES}/kube-scheduler` },
  { name: 'kubelet', module: 'kubernetes', package: `${KUBERNETES}/kubelet` },
  { name: 'kube-proxy', module: 'kubernetes', package: `${KUBERNETES}/kube-proxy` },
  { name: 'kubectl', module: 'kubernetes', package: `${KUBERNETES}/kubectl` },
  { name: 'helm', module: 'kubernetes', package: 'helm.sh/helm/v4/cmd/helm' },
]

/** Folder of the programs as their sources are now; built or not. */
export function programFolder(cache: string): string {
  return join(cache, digestOfSources().slice(0, 16))
}

/** True where every program is built. */
export function programsBuilt(cache: string): boolean {
  return missing(cache).length === 0
}

/** The folder of the programs; those that are missing are built first, with progress on stderr. */
export async function readyPrograms(cache: string): Promise<string> {
  if (!programsBuilt(cache)) await withProgress(BUILDING, tell => buildPrograms(cache, tell))
  return programFolder(cache)
}

/** Builds what is missing; an interrupted build goes on where it was. `tell` gets the progress. */
export async function buildPrograms(cache: string, tell: (detail: string) => void): Promise<void> {
  const folder = programFolder(cache)
  const todo = missing(cache)
  const obstacle = todo.length > 0 ? await obstacleToBuilding() : undefined
  if (obstacle) throw new Error(obstacle)
  mkdirSync(folder, { recursive: true })
  for (const [at, program] of todo.entries()) {
    await build(program, folder, packages =>
      tell(`${program.name}, ${at + 1} of ${todo.length} programs, ${packages} packages compiled`),
    )
  }
}

/** `tell` gets the number of packages compiled so far for this program. */
async function build(program: Program, folder: string, tell: (packages: number) => void): Promise<void> {
  let packages = 0
  tell(packages)
  const unfinished = join(folder, `.${program.name}.${process.pid}`)
  await run(['go', 'build', '-v', ...flags(program), '-o', unfinished, program.package], {
    cwd: join(SOURCES, program.module),
    env: { CGO_ENABLED: program.cgo ? '1' : '0' },
    onStderr: text => {
      // -v prints each package on a line; lines about downloads begin with `go: `
      packages += text.split('\n').filter(line => line && !line.startsWith('go: ')).length
      tell(packages)
    },
  })
  renameSync(unfinished, join(folder, program.name))
}

/** runc filters system calls with libseccomp, which is C; Kubernetes learns its own version when it is linked. */
function flags(program: Program): string[] {
  if (program.module === 'runtime')
    return [...FLAGS, '-ldflags=-s -w', ...(program.cgo ? ['-tags=seccomp'] : [])]
  const version = kubernetesVersion()
  const [major, minor] = version.slice(1).split('.')
  const stamps = { gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' }
  const set = Object.entries(stamps).map(([name, value]) => `-X ${VERSION}.${name}=${value}`)
  return [...FLAGS, `-ldflags=-s -w ${set.join(' ')}`]
}

function kubernetesVersion(): string {
  const found = /^\tk8s\.io\/kubernetes (v\S+)/m.exec(
    readFileSync(join(SOURCES, 'kubernetes', 'go.mod'), 'utf8'),
  )
  if (!found?.[1]) throw new Error('kubernetes/go.mod does not pin k8s.io/kubernetes')
  return found[1]
}

function missing(cache: string): Program[] {
  const folder = programFolder(cache)
  return PROGRAMS.filter(program => !existsSync(join(folder, program.name)))
}

function digestOfSources(): string {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter(file => /\.(go|mod|sum)$/.test(file))
    .sort()
  const hash = createHash('sha256').update(JSON.stringify(PROGRAMS.map(program => [program, flags(program)])))
  for (const file of files) hash.update(file).update(readFileSync(join(SOURCES, file)))
  return hash.digest('hex')
}
