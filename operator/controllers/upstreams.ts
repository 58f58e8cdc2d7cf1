/** The connections of discovery: one a server, kept only where the server tells on it that its lists changed. */
import type { Clock } from '../../core/async.ts'
import { secretsOf } from '../../core/catalog/endpoint.ts'
import type { KubeClient } from '../../core/kube/client.ts'
import { readSecret, type SecretValues } from '../../core/kube/secret.ts'
import { createConnector } from '../../core/mcp/client/connector.ts'
import { changingLists } from '../../core/mcp/protocol/declares.ts'
import type { Upstream, UpstreamInfo } from '../../core/mcp/upstream.ts'
import { parseDuration } from '../../crds/quantity.ts'
import type { Target } from './discovery-targets.ts'

/** Streams that are held open at a time; other servers are asked when their interval is over. */
export const MAX_STREAMS = 256

type Held = { revision: string; upstream: Upstream; stopListening?: () => void }

export type UpstreamsOptions = {
  client: Pick<KubeClient, 'get'>
  clock: Clock
  connector?: typeof createConnector
  /** A server said that its lists changed, or forgot our session: it may have been started anew. */
  onListChanged: (key: string) => void
}

export class Upstreams {
  readonly #options: UpstreamsOptions
  readonly #held = new Map<string, Held>()
  readonly #closing = new Set<Promise<void>>()
  #streams = 0

  constructor(options: UpstreamsOptions) {
    this.#options = options
  }

  /** The upstream of a server; another one where its connection changed. `release` must follow. Throws ApiError, and Fault upstream_auth_required. */
  async open(key: string, target: Target, signal: AbortSignal): Promise<Upstream> {
    const { revision } = target.endpoint
    const held = this.#held.get(key)
    if (held?.revision === revision) return held.upstream
    this.close(key)
    const upstream = await this.#connect(target, signal)
    const opened: Held = { revision, upstream }
    this.#held.set(key, opened)
    // Each client of a perClient server has a list of its own, if they differ at all: changes of ours tell nothing.
    if (target.server.spec.sessions === 'shared' && this.#streams < MAX_STREAMS) this.#listen(key, opened)
    return upstream
  }

  /** The asking is over: the connection stays if the server declared that it tells of changes. Without `info` it failed. */
  release(key: string, info: UpstreamInfo | undefined): void {
    const held = this.#held.get(key)
    if (held?.stopListening && info && changingLists(info.capabilities).length > 0) return
    this.close(key)
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

  #listen(key: string, held: Held): void {
    this.#streams++
    const stop = held.upstream.onEvent(({ kind }) => {
      if (kind === 'listChanged') this.#options.onListChanged(key)
    })
    held.stopListening = () => {
      this.#streams--
      stop()
    }
  }

  /** The values of Secrets are read for it now, and are kept nowhere else. */
  async #connect({ server, endpoint }: Target, signal: AbortSignal): Promise<Upstream> {
    const { client, clock, connector = createConnector } = this.#options
    const { metadata, spec } = server
    const { name, namespace } = metadata
    const values = new Map<string, SecretValues>()
    for (const name of secretsOf(endpoint)) {
      const secret = await readSecret(client, namespace, name, signal)
      if (secret) values.set(name, secret)
    }
    const limits = { startTimeoutMs: parseDuration(spec.limits.startTimeout) }
    return connector({ clock, secret: name => values.get(name) })({
      name,
      endpoint,
      sessions: spec.sessions,
      limits,
    })
  }
}
