/** The programs of the control plane, as they are started on the first node. */
import { join } from 'node:path'
import { run } from './command.ts'
import type { Daemon } from './daemon.ts'
import { environmentInside } from './inside.ts'
import {
  API_PORT,
  addressesOf,
  credentials,
  DNS_DOMAIN,
  insideKubeconfig,
  type Layout,
  nodeFolder,
  program,
} from './layout.ts'
import { insideNetwork } from './namespace.ts'

const ETCD_ADDRESS = 'http://127.0.0.1:2379'

export function etcd(layout: Layout): Daemon {
  const data = `--data-dir=${join(nodeFolder(layout, 1), 'etcd')}`
  return {
    name: 'etcd',
    node: 1,
    command: [program(layout, 'etcd'), data, '--unsafe-no-fsync', '--log-level=warn'],
  }
}

export function apiServer(layout: Layout): Daemon {
  const { control, any, serviceRange } = addressesOf(layout)
  return {
    name: 'apiserver',
    node: 1,
    command: [
      program(layout, 'kube-apiserver'),
      `--etcd-servers=${ETCD_ADDRESS}`,
      `--advertise-address=${control}`,
      `--bind-address=${any}`,
      `--secure-port=${API_PORT}`,
      `--service-cluster-ip-range=${serviceRange}`,
      '--authorization-mode=Node,RBAC',
      '--enable-admission-plugins=NodeRestriction',
      '--allow-privileged=true',
      '--kubelet-preferred-address-types=InternalIP',
      ...apiServerIdentity(layout),
    ],
    probe: () =>
      run(insideNetwork(layout, 1, ['kubectl', 'get', '--raw', '/readyz']), {
        env: environmentInside(layout),
      }),
  }
}

export function controllerManager(layout: Layout): Daemon {
  return {
    name: 'controller-manager',
    node: 1,
    command: [
      program(layout, 'kube-controller-manager'),
      ...asClient(layout, 'controller-manager'),
      `--service-account-private-key-file=${credentials(layout, 'sa.key')}`,
      `--root-ca-file=${credentials(layout, 'ca.crt')}`,
      `--cluster-signing-cert-file=${credentials(layout, 'ca.crt')}`,
      `--cluster-signing-key-file=${credentials(layout, 'ca.key')}`,
      `--service-cluster-ip-range=${addressesOf(layout).serviceRange}`,
      `--flex-volume-plugin-dir=${join(nodeFolder(layout, 1), 'volume-plugins')}`,
      '--use-service-account-credentials=true',
    ],
  }
}

export function scheduler(layout: Layout): Daemon {
  return {
    name: 'scheduler',
    node: 1,
    command: [program(layout, 'kube-scheduler'), ...asClient(layout, 'scheduler')],
  }
}

/** Answers for the names of services and pods; for all others it says that they do not exist. */
export function coreDns(layout: Layout): Daemon {
  const corefile = join(nodeFolder(layout, 1), 'Corefile')
  const content = `.:53 {
  bind ${addressesOf(layout).control}
  errors
  kubernetes ${DNS_DOMAIN} {
    kubeconfig ${insideKubeconfig(layout)}
    pods insecure
    ttl 5
  }
  template ANY ANY {
    rcode NXDOMAIN
  }
}
`
  return {
    name: 'coredns',
    node: 1,
    files: { [corefile]: content },
    command: [program(layout, 'coredns'), '-conf', corefile],
  }
}

function apiServerIdentity(layout: Layout): string[] {
  const path = (file: string) => credentials(layout, file)
  return [
    `--cert-dir=${join(nodeFolder(layout, 1), 'apiserver')}`,
    `--tls-cert-file=${path('apiserver.crt')}`,
    `--tls-private-key-file=${path('apiserver.key')}`,
    `--client-ca-file=${path('ca.crt')}`,
    `--kubelet-client-certificate=${path('kubelet-client.crt')}`,
    `--kubelet-client-key=${path('kubelet-client.key')}`,
    `--kubelet-certificate-authority=${path('ca.crt')}`,
    `--service-account-issuer=https://kubernetes.default.svc.${DNS_DOMAIN}`,
    `--service-account-key-file=${path('sa.pub')}`,
    `--service-account-signing-key-file=${path('sa.key')}`,
    `--requestheader-client-ca-file=${path('ca.crt')}`,
    '--requestheader-allowed-names=front-proxy-client',
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${path('front-proxy.crt')}`,
    `--proxy-client-key-file=${path('front-proxy.key')}`,
  ]
}

/** There is one of each, so no leader is elected. */
function asClient(layout: Layout, name: string): string[] {
  const kubeconfig = credentials(layout, `${name}.kubeconfig`)
  return [
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    `--cert-dir=${join(nodeFolder(layout, 1), name)}`,
    '--bind-address=127.0.0.1',
    '--leader-elect=false',
  ]
}
