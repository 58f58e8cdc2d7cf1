/** Publishes snapshots made from the desired and the observed state. A burst of changes leads to one snapshot. */
import type { Clock, Timer } from '../core/async.ts'
import { resolve } from '../core/catalog/resolve.ts'
import type { RouterConfig } from '../core/catalog/router-config.ts'
import type { ServerCatalog } from '../core/catalog/server-catalog.ts'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { InProcessSource } from '../router/source/in-process-source.ts'
import type { Children } from './children.ts'
import { configMapValues, type Desired } from './desire.ts'

const COALESCE_MS = 50

export type PublisherDeps = {
  source: InProcessSource
  clock: Clock
  children: Children
  countTokens: (texts: readonly string[]) => Promise<number[]>
  /** As in ResolveInput. */
  assumed: boolean
  /** As in ResolveInput. */
  runsScripts?: boolean
  /** Applies the command line's options to the config. */
  override: (config: RouterConfig) => RouterConfig
  log: Pick<Log, 'warn'>
}

/** Must be closed with `close`. */
export class Publisher {
  readonly #deps: PublisherDeps
  #desired: Desired
  #config: RouterConfig
  #generation = 0
  /** Token counts of overridden descriptions, by text. */
  #descriptionTokens: ReadonlyMap<string, number> = new Map()
  #counting = 0
  #scheduled: Timer | undefined
  /** Publishes again when a failed server becomes hidden. */
  #untilHidden: Timer | undefined
  #closed = false

  constructor(deps: PublisherDeps, desired: Desired) {
    this.#deps = deps
    this.#desired = desired
    this.#config = this.#resolve().config
  }

  /** The config of the newest snapshot. */
  config(): RouterConfig {
    return this.#config
  }

  /** What the next snapshot is made from. */
  desired(): Desired {
    return this.#desired
  }

  /** The newest generation, and whether another will follow soon. */
  progress(): { generation: number; pending: boolean } {
    return { generation: this.#generation, pending: this.#scheduled !== undefined || this.#counting > 0 }
  }

  setDesired(desired: Desired): void {
    this.#desired = desired
    this.publishSoon()
    void this.#countDescriptions()
  }

  /** Publishes after a short delay; calls within this time lead to one snapshot. The first snapshot is left to `publish`. */
  publishSoon(): void {
    if (!this.#closed && this.#generation > 0)
      this.#scheduled ??= this.#deps.clock.after(COALESCE_MS, () => this.publish())
  }

  /** Publishes a snapshot now. Does nothing after `close`. */
  publish(): void {
    this.#scheduled?.cancel()
    this.#untilHidden?.cancel()
    this.#scheduled = undefined
    if (this.#closed) return
    const { config, after } = this.#resolve()
    this.#config = config
    this.#deps.source.publish({ generation: ++this.#generation, config, catalogs: this.#catalogs() })
    if (after !== undefined) this.#untilHidden = this.#deps.clock.after(after, () => this.publish())
  }

  close(): void {
    this.#closed = true
    this.#scheduled?.cancel()
    this.#untilHidden?.cancel()
  }

  /** Counts the tokens of new overridden descriptions, and then publishes again. Counts may end in another order than they began. */
  async #countDescriptions(): Promise<void> {
    const texts = this.#descriptions().filter(text => !this.#descriptionTokens.has(text))
    if (texts.length === 0) return
    this.#counting++
    try {
      const counts = await this.#deps.countTokens(texts)
      const all = new Map(this.#descriptionTokens)
      for (const [at, tokens] of counts.entries()) all.set(texts[at] ?? '', tokens)
      const wanted = new Set(this.#descriptions())
      this.#descriptionTokens = new Map([...all].filter(([text]) => wanted.has(text)))
      this.publishSoon()
    } catch (error) {
      const detail = messageOf(error)
      if (!this.#closed)
        this.#deps.log.warn({ detail }, 'tokens of descriptions could not be counted: they are estimated')
    } finally {
      this.#counting--
    }
  }

  /** The overridden descriptions of tools, each once. */
  #descriptions(): string[] {
    const overrides = this.#desired.servers.flatMap(({ spec }) => Object.values(spec.tools.overrides))
    return [...new Set(overrides.flatMap(({ description }) => description ?? []))]
  }

  #resolve() {
    const { clock, children, override, assumed, runsScripts } = this.#deps
    const { gateway, servers, scripts, configMaps } = this.#desired
    const resolved = resolve({
      gateway,
      servers,
      scripts,
      observed: children.observations(),
      descriptionTokens: this.#descriptionTokens,
      configMaps: configMapValues(configMaps, gateway),
      userSecrets: children.userSecrets(),
      placement: 'local',
      assumed,
      runsScripts,
      now: clock.now(),
    })
    return { config: override(resolved.config), after: resolved.after }
  }

  #catalogs(): Map<string, ServerCatalog> {
    const found = this.#config.servers.flatMap(({ name }) => {
      const catalog = this.#deps.children.observed(name)?.catalog
      return catalog ? [[name, catalog] as const] : []
    })
    return new Map(found)
  }
}
