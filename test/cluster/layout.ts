/** Where things of one cluster are: names, addresses, folders. Pure. */
import { join } from 'node:path'

export type Layout = {
  /** Marks everything that belongs to this cluster: its folder, its cgroups. */
  name: string
  /** Everything that the cluster leaves on disk. */
  folder: string
  /** The programs it is made of. */
  bin: string
  /** Nodes count from 1; the control plane lives on the first. */
  nodes: number
}

export const CONTROL_ADDRESS = '10.88.0.1'
export const API_PORT = 6443
export const SERVICE_RANGE = '10.96.0.0/16'
export const API_SERVICE_ADDRESS = '10.96.0.1'
export const POD_RANGE = '10.89.0.0/16'
export const DNS_ADDRESS = CONTROL_ADDRESS
export const DNS_DOMAIN = 'cluster.local'
export const PAUSE_IMAGE = 'localhost/pause:1'
export const MAX_NODES = 9

export const nodeName = (node: number) => `node${node}`
export const nodeAddress = (node: number) => `10.88.0.${node}`
export const podRange = (node: number) => `10.89.${node}.0/24`
export const nodeNumbers = (layout: Layout) => Array.from({ length: layout.nodes }, (_, index) => index + 1)

export const program = (layout: Layout, name: string) => join(layout.bin, name)
export const nodeFolder = (layout: Layout, node: number) => join(layout.folder, nodeName(node))
export const logFile = (layout: Layout, component: string) =>
  join(layout.folder, 'log', `${component.replaceAll('/', '-')}.log`)
export const credentials = (layout: Layout, file: string) => join(layout.folder, 'pki', file)
/** For commands inside the cluster's network. */
export const insideKubeconfig = (layout: Layout) => credentials(layout, 'admin.kubeconfig')
/** For clients on the machine, through a port of the loopback. */
export const outsideKubeconfig = (layout: Layout) => join(layout.folder, 'kubeconfig')
/** Path of the cluster's cgroup inside every hierarchy. */
export const cgroupOf = (name: string) => `/portolan-${name}`
