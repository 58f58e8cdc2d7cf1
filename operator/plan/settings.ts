/** The operator's settings that plans depend on. Type only. */

export type OperatorSettings = {
  /** The namespace of the operator itself, whose pods may reach servers and routers. */
  namespace: string
  /** The image of Portolan: router, sidecar, and the bridge that is delivered into pods. */
  image: string
  imagePullPolicy: 'Always' | 'IfNotPresent' | 'Never'
  imagePullSecrets: string[]
  /** How the bridge comes into a pod: copied by an init container, or mounted as an image volume (Kubernetes 1.35 or newer). */
  delivery: 'initContainer' | 'imageVolume'
  /** Images that npm and PyPI servers run in, and the default registries. */
  npm: { image: string; registry?: string }
  pypi: { image: string; index?: string }
  /** Whether NetworkPolicies are written. */
  networkPolicies: boolean
  /** Default resources of containers. */
  resources: { server: Resources; router: Resources; install: Resources }
  /** Routers' OpenTelemetry variables; empty: no traces. */
  routerTracing: Readonly<Record<string, string>>
}

export type Resources = { requests?: Record<string, string>; limits?: Record<string, string> }
