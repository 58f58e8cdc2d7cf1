/** The operator's settings that plans depend on. Types only. */
import type { V1NetworkPolicyPeer } from '@kubernetes/client-node'
import type { JsonOf } from '../../core/kube/object.ts'
import type { Waves } from './upgrade.ts'

export type OperatorSettings = {
  /** The namespace of the operator itself, whose pods may reach servers and routers. */
  namespace: string
  /** The image of Portolan: router, sidecar, and the bridge that is delivered into pods. */
  image: string
  imagePullPolicy: 'Always' | 'IfNotPresent' | 'Never'
  imagePullSecrets: string[]
  /** How the bridge comes into a pod: copied by an init container, or mounted as an image volume (Kubernetes 1.35 or newer). */
  delivery: 'initContainer' | 'imageVolume'
  /** User and group of all pods; absent: the cluster assigns them. */
  user?: number
  /** Images that npm and PyPI servers run in, and the default registries. */
  npm: { image: string; registry?: string }
  pypi: { image: string; index?: string }
  /** How servers roll when the operator is upgraded. */
  waves: Waves
  /** Whether NetworkPolicies are written. */
  networkPolicies: boolean
  /** The cluster's DNS servers, as peers of a NetworkPolicy; empty: servers may not resolve names. */
  dns: JsonOf<V1NetworkPolicyPeer>[]
  /** The ClusterRoleBinding whose subjects may review tokens; empty: the chart created none. */
  tokenReviewBinding: string
  /** Who may reach the routers' admin port for their metrics, as peers of a NetworkPolicy. */
  metricsFrom: JsonOf<V1NetworkPolicyPeer>[]
  /** What manifests may ask for, as the chart's administrator decides. */
  permitted: Permitted
  /** Default resources of containers. */
  resources: { server: Resources; router: Resources; install: Resources }
  /** Certificate authorities that the operator and routers trust in addition to those of Node, in PEM. */
  trustedCertificates?: string
  /** The operator's ServiceAccount, which may ask routers for the console's data; absent: there is no console. */
  consoleAccount?: string
  /** How the operator and routers reach remote servers: the proxies' variables, and the Secret with their credentials. */
  proxy?: { variables: Readonly<Record<string, string>>; secret?: string }
  /** Routers' OpenTelemetry variables; empty: no traces. */
  routerTracing: Readonly<Record<string, string>>
}

export type Permitted = {
  /** Powerful fields of a pod that are allowed, by name: see pod-fields.ts. */
  podFields: readonly string[]
  /** Registries of images, with or without a path. Empty: all. */
  registries: readonly string[]
  /** Hosts of remote servers, authorization servers, issuers and embeddings services; `*.example.com` stands for several. Empty: all. */
  remoteHosts: readonly string[]
  /** Addresses and subnets that these hosts may not have, unless `remoteHosts` names the host in full. */
  refusedAddresses: readonly string[]
}

export type Resources = { requests?: Record<string, string>; limits?: Record<string, string> }
