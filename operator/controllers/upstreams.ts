/** Discovery's connections, one per server. They stay open if they report changed lists or the failure of a remote server. */
import type { Clock } from '../../core/async.ts'
import { secretsOf } from '../../core/catalog/endpoint.ts'
import type { HostGuard } from '../../core/host-guard.ts'
import type { KubeClient } from '../../core/kube/client.ts'
import { readSecret, type SecretValues } from '../../core/kube/secret.ts'
import { Bearers } from '../../core/mcp/client/bearers.ts'
import { createConnector } from '../../core/mcp/client/connector.ts'
import { changingLists } from '../../core/mcp/protocol/declares.ts'
import type { Upstream, UpstreamInfo } from '../../core/mcp/upstream.ts'
import { parseDuration } from '../../crds/quantity.ts'
import type { Target } from './discovery-targets.ts'

/** How many connections stay open; servers without one are discovered only at their interval. */
export const MAX_STREAMS = 256

/** The values of Secrets, by name. */
type Secrets = Map<string, SecretValues>

type Held = {
  revision: string
  upstream: Upstream
  /** Runs outside the cluster: no pod status shows whether it is up. */
  isRemote: boolean
  /** Discovery is using it, and will notice a failure itself. */
  isInUse: boolean
  secrets: Secrets
  stopListening?: () => void
}

export type UpstreamsOptions = {
  client: Pick<KubeClient, 'get'>
  clock: Clock
  connector?: typeof createConnector
  /** Which addresses may be connected to. Absent: all. */
  guard?: HostGuard
  /** Called when a server reports changed lists, has lost the session or has stopped responding: it has to be discovered again. */
  onListChanged: (key: string) => void
}

export class Upstreams {
  readonly #options: UpstreamsOptions
  readonly #held = new Map<string, Held>()
  readonly #closing = new Set<Promise<void>>()
  readonly #bearers = new Bearers()
  #streams = 0

  constructor(options: UpstreamsOptions) {
    this.#options = options
  }

  /** The upstream of a server, replaced if its endpoint changed. `release` must follow. Throws ApiError, and Fault upstream_auth_required. */
  async open(key: string, target: Target, signal: AbortSignal): Promise<Upstream> {
    const { revision } = target.endpoint
    const held = this.#held.get(key)
    if (held?.revision === revision) {
      held.isInUse = true
      await this.#read(target, held.secrets, signal)
      return held.upstream
    }
    this.close(key)
    const secrets: Secrets = new Map()
    await this.#read(target, secrets, signal)
    const upstream = this.#connect(target, secrets)
    const opened: Held = { revision, upstream, isRemote: isRemote(target), isInUse: true, secrets }
    this.#held.set(key, opened)
    // A perClient server reports only changes of this session's lists.
    const notifies = target.server.spec.sessions !== 'perClient'
    if ((notifies || opened.isRemote) && this.#streams < MAX_STREAMS) this.#listen(key, opened, notifies)
    return upstream
  }

  /** Ends a use: the connection stays if the server is remote or declares list-changed notifications. Without `info`, discovery failed. */
  release(key: string, info: UpstreamInfo | undefined): void {
    const held = this.#held.get(key)
    const notifies = info !== undefined && (held?.isRemote || changingLists(info.capabilities).length > 0)
    if (held?.stopListening && notifies) held.isInUse = false
    else this.close(key)
  }

  close(key: string): void {
    const held = this.#held.get(key)
    if (!held) return
    this.#held.delete(key)
    held.stopListening?.()
    const closing = held.upstream.close().finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }

  /** Resolves when every connection is closed. */
  async closeAll(): Promise<void> {
    for (const key of [...this.#held.keys()]) this.close(key)
    await Promise.allSettled([...this.#closing])
  }

  #listen(key: string, held: Held, notifies: boolean): void {
    const { onListChanged } = this.#options
    this.#streams++
    const stop = held.upstream.onEvent(event => {
      if (event.kind === 'listChanged') {
        if (notifies) onListChanged(key)
      } else if (event.state === 'failed' && !held.isInUse) {
        this.close(key)
        onListChanged(key)
      }
    })
    held.stopListening = () => {
      this.#streams--
      stop()
    }
  }

  /** Reads the values of Secrets as they are now; they are kept only with the connection. */
  async #read({ server, endpoint }: Target, secrets: Secrets, signal: AbortSignal): Promise<void> {
    for (const name of secretsOf(endpoint)) {
      const values = await readSecret(this.#options.client, server.metadata.namespace, name, signal)
      if (values) secrets.set(name, values)
      else secrets.delete(name)
    }
  }

  #connect(target: Target, secrets: Secrets): Upstream {
    const { clock, guard, connector = createConnector } = this.#options
    const { server, endpoint } = target
    const { metadata, spec } = server
    const limits = { startTimeoutMs: parseDuration(spec.limits.startTimeout) }
    const secret = (name: string) => secrets.get(name)
    const connect = connector({ clock, secret, bearers: this.#bearers, watchesLife: isRemote(target), guard })
    return connect({ name: metadata.name, endpoint, sessions: spec.sessions, limits })
  }
}

function isRemote({ revision }: Target): boolean {
  return revision === undefined
}
