/** The programs of a node, with their configuration. */
import { join } from 'node:path'
import { run } from './command.ts'
import type { Daemon } from './daemon.ts'
import {
  addressesOf,
  cgroupOf,
  credentials,
  DNS_DOMAIN,
  type Layout,
  nodeFolder,
  nodeName,
  PAUSE_IMAGE,
  program,
} from './layout.ts'
import { insideNode } from './namespace.ts'

/** In the node's own /run. */
const CONTAINERD_SOCKET = '/run/containerd/containerd.sock'

export function containerd(layout: Layout, node: number): Daemon {
  const config = join(nodeFolder(layout, node), 'containerd.toml')
  return {
    name: `${nodeName(node)}/containerd`,
    node,
    files: {
      [config]: containerdConfig(layout, node),
      [join(nodeFolder(layout, node), 'cni', '10-pods.conflist')]: JSON.stringify(podNetwork(layout, node)),
    },
    command: [program(layout, 'containerd'), '--config', config],
    probe: () => ctr(layout, node, ['version']),
  }
}

export function kubelet(layout: Layout, node: number): Daemon {
  const folder = nodeFolder(layout, node)
  const config = join(folder, 'kubelet.json')
  return {
    name: `${nodeName(node)}/kubelet`,
    node,
    files: { [config]: JSON.stringify(kubeletConfig(layout, node)), [join(folder, 'resolv.conf')]: '' },
    command: [
      program(layout, 'kubelet'),
      `--config=${config}`,
      `--kubeconfig=${credentials(layout, `${nodeName(node)}.kubeconfig`)}`,
      `--root-dir=${join(folder, 'kubelet')}`,
      `--cert-dir=${join(folder, 'kubelet-pki')}`,
      `--hostname-override=${nodeName(node)}`,
      `--node-ip=${addressesOf(layout).node(node)}`,
    ],
  }
}

export function kubeProxy(layout: Layout, node: number): Daemon {
  const config = join(nodeFolder(layout, node), 'kube-proxy.json')
  return {
    name: `${nodeName(node)}/kube-proxy`,
    node,
    files: { [config]: JSON.stringify(kubeProxyConfig(layout, node)) },
    command: [program(layout, 'kube-proxy'), `--config=${config}`],
  }
}

/** Makes a docker archive's images known to a node. */
export async function importImage(layout: Layout, node: number, archive: string): Promise<void> {
  await ctr(layout, node, ['--namespace', 'k8s.io', 'images', 'import', archive])
}

/** Where the kubelet puts the pods of a node. */
export function podsCgroup(layout: Layout, node: number): string {
  return `${cgroupOf(layout.name)}/${nodeName(node)}`
}

function ctr(layout: Layout, node: number, args: string[]): Promise<string> {
  return run(insideNode(layout, node, [program(layout, 'ctr'), '--address', CONTAINERD_SOCKET, ...args]))
}

function containerdConfig(layout: Layout, node: number): string {
  const folder = nodeFolder(layout, node)
  const cri = 'plugins."io.containerd.cri.v1'
  return `version = 3
root = '${join(folder, 'containerd')}'
state = '/run/containerd'
[grpc]
  address = '${CONTAINERD_SOCKET}'
[${cri}.images"]
  snapshotter = 'overlayfs'
[${cri}.images".pinned_images]
  sandbox = '${PAUSE_IMAGE}'
[${cri}.runtime"]
  restrict_oom_score_adj = true # without CAP_SYS_RESOURCE runc could not lower the score, and would die
[${cri}.runtime".containerd]
  default_runtime_name = 'runc'
[${cri}.runtime".containerd.runtimes.runc]
  runtime_type = 'io.containerd.runc.v2'
[${cri}.runtime".containerd.runtimes.runc.options]
  BinaryName = '${program(layout, 'runc')}'
  SystemdCgroup = false
[${cri}.runtime".cni]
  bin_dirs = ['${layout.bin}']
  conf_dir = '${join(folder, 'cni')}'
`
}

/** Each pod hangs on a link of its own and is routed, so that the node sees both directions of every connection. */
function podNetwork(layout: Layout, node: number): object {
  const { podsOf, everywhere } = addressesOf(layout)
  return {
    cniVersion: '1.0.0',
    name: 'pods',
    plugins: [
      {
        type: 'ptp',
        ipam: {
          type: 'host-local',
          dataDir: '/run/cni-addresses',
          ranges: [[{ subnet: podsOf(node) }]],
          routes: [{ dst: everywhere }],
        },
      },
    ],
  }
}

function kubeletConfig(layout: Layout, node: number): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: addressesOf(layout).node(node),
    healthzBindAddress: '127.0.0.1',
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: credentials(layout, 'ca.crt') },
    },
    authorization: { mode: 'Webhook' },
    tlsCertFile: credentials(layout, `${nodeName(node)}.crt`),
    tlsPrivateKeyFile: credentials(layout, `${nodeName(node)}.key`),
    containerRuntimeEndpoint: `unix://${CONTAINERD_SOCKET}`,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: podsCgroup(layout, node),
    failCgroupV1: false,
    failSwapOn: false,
    protectKernelDefaults: true,
    clusterDomain: DNS_DOMAIN,
    clusterDNS: [addressesOf(layout).control],
    resolvConf: join(nodeFolder(layout, node), 'resolv.conf'),
    volumePluginDir: join(nodeFolder(layout, node), 'volume-plugins'),
    imageGCHighThresholdPercent: 100, // images come from archives and must stay
    imageGCLowThresholdPercent: 99,
    evictionHard: { 'memory.available': '100Mi' },
    syncFrequency: '10s',
    nodeStatusUpdateFrequency: '5s',
  }
}

function kubeProxyConfig(layout: Layout, node: number): object {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'nftables',
    clientConnection: { kubeconfig: credentials(layout, 'proxy.kubeconfig') },
    clusterCIDR: addressesOf(layout).podRange,
    healthzBindAddress: '127.0.0.1:10256',
    metricsBindAddress: '127.0.0.1:10249',
    hostnameOverride: nodeName(node),
    conntrack: { maxPerCore: 0 }, // a setting of the whole machine: left alone
  }
}
