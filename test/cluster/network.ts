/** The network between nodes: a bridge on the first node, a link to it from each of the others, a route to every node's pods. */
import { run } from './command.ts'
import { addressesOf, type Layout, nodeName, nodeNumbers } from './layout.ts'
import { anchorOf, insideNetwork } from './namespace.ts'

const BRIDGE = 'nodes'

/** Connects all nodes. Nothing leads out of the cluster: other addresses are unreachable from inside. */
export async function createNetwork(layout: Layout): Promise<void> {
  const { serviceRange, podsOf, node: addressOf, prefix } = addressesOf(layout)
  const isIPv6 = layout.family === 6
  const forwarding = isIPv6 ? 'net.ipv6.conf.all.forwarding=1' : 'net.ipv4.ip_forward=1'
  await inside(layout, 1, [`link add ${BRIDGE} type bridge`])
  for (const node of nodeNumbers(layout)) {
    const device = node === 1 ? BRIDGE : await link(layout, node)
    await inside(layout, node, [
      'link set lo up',
      // no other node can have the address, so IPv6 need not check for duplicates
      `address add ${addressOf(node)}/${prefix.nodes} dev ${device}${isIPv6 ? ' nodad' : ''}`,
      `link set ${device} up`,
      // kube-proxy redirects packets to Services, but without a route they would not be sent at all
      `route add ${serviceRange} dev ${device} src ${addressOf(node)}`,
      ...nodeNumbers(layout)
        .filter(other => other !== node)
        .map(other => `route add ${podsOf(other)} via ${addressOf(other)}`),
    ])
    await run(insideNetwork(layout, node, ['sysctl', '--quiet', '--write', forwarding]))
  }
}

/** Cuts or repairs the link of a node other than the first, which carries the bridge. */
export async function setLink(layout: Layout, node: number, state: 'up' | 'down'): Promise<void> {
  if (node === 1) throw new Error('the first node is the control plane: the link of another one can be cut')
  await inside(layout, 1, [`link set ${nodeName(node)} ${state}`])
}

async function link(layout: Layout, node: number): Promise<string> {
  const peer = `peer name ${nodeName(node)} netns ${anchorOf(layout, 1)}`
  await inside(layout, node, [`link add eth0 type veth ${peer}`])
  await inside(layout, 1, [`link set ${nodeName(node)} master ${BRIDGE}`, `link set ${nodeName(node)} up`])
  return 'eth0'
}

async function inside(layout: Layout, node: number, commands: string[]): Promise<void> {
  await run(insideNetwork(layout, node, ['ip', '-batch', '-']), { input: `${commands.join('\n')}\n` })
}
