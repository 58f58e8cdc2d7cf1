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
  /** The version of IP of all its addresses. */
  family: Family
}

export type Family = 4 | 6
export type Addresses = {
  /** Of the API server, the name server, and what tests serve to the cluster. */
  control: string
  /** Of the Service `kubernetes`. */
  apiService: string
  serviceRange: string
  podRange: string
  podsOf(node: number): string
  node(number: number): string
  /** Length of the prefix of the network between the nodes, and of a single address. */
  prefix: { nodes: number; single: number }
  /** What listens on every address, and a route to everywhere. */
  any: string
  everywhere: string
}

export const API_PORT = 6443
export const DNS_DOMAIN = 'cluster.local'
export const PAUSE_IMAGE = 'localhost/pause:1'
export const MAX_NODES = 9

const ADDRESSES: Readonly<Record<Family, Addresses>> = {
  4: {
    control: '10.88.0.1',
    apiService: '10.96.0.1',
    serviceRange: '10.96.0.0/16',
    podRange: '10.89.0.0/16',
    podsOf: node => `10.89.${node}.0/24`,
    node: number => `10.88.0.${number}`,
    prefix: { nodes: 24, single: 32 },
    any: '0.0.0.0',
    everywhere: '0.0.0.0/0',
  },
  6: {
    control: 'fd88::1',
    apiService: 'fd96::1',
    serviceRange: 'fd96::/112',
    podRange: 'fd89::/48',
    podsOf: node => `fd89:0:0:${node}::/64`,
    node: number => `fd88::${number}`,
    prefix: { nodes: 64, single: 128 },
    any: '::',
    everywhere: '::/0',
  },
}

export const addressesOf = ({ family }: Pick<Layout, 'family'>) => ADDRESSES[family]
/** As in a URL. */
export const inUrl = (address: string) => (address.includes(':') ? `[${address}]` : address)

export const nodeName = (node: number) => `node${node}`
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
