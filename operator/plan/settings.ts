/** What the operator was told by its installation: images, registries and where it stands. Type only. */

export type OperatorSettings = {
  /** The namespace of the operator itself, whose pods may reach servers and routers. */
  namespace: string
  /** The image of Portolan: router, sidecar, and the bridge that is delivered into pods. */
  image: string
  imagePullPolicy: 'Always' | 'IfNotPresent' | 'Never'
  imagePullSecrets: string[]
  /** How the bridge comes into a pod: copied by an init container, or mounted as an image volume (Kubernetes 1.35 or newer). */
  delivery: 'initContainer' | 'imageVolume'
  /** Images that npm and PyPI servers run in, and registries to install from where a server names none. */
  npm: { image: string; registry?: string }
  pypi: { image: string; index?: string }
  /** Whether NetworkPolicies are written. */
  networkPolicies: boolean
  /** Resources of containers that the manifest gives none. */
  resources: { server: Resources; router: Resources; install: Resources }
  /** Environment variables by which routers are told where to send traces; empty: nowhere. */
  routerTracing: Readonly<Record<string, string>>
}

export type Resources = { requests?: Record<string, string>; limits?: Record<string, string> }
