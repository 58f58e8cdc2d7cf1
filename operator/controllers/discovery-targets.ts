/** The servers that discovery may connect to: every accepted server with its endpoint, as last applied. */
import type { Endpoint } from '../../core/catalog/router-config.ts'
import type { McpServer } from '../../crds/server.ts'

export type Target = {
  server: McpServer
  endpoint: Extract<Endpoint, { kind: 'http' }>
  /** Revision of the applied pod template; absent for remote servers. */
  revision?: string
}

export class Targets {
  readonly #targets = new Map<string, Target>()
  readonly #listeners = new Set<(key: string) => void>()

  get(key: string): Target | undefined {
    return this.#targets.get(key)
  }

  /** `target` is undefined for a server that must not be discovered: it is deleted, suspended or not accepted. */
  set(key: string, target: Target | undefined): void {
    const before = this.#targets.get(key)
    if (target) this.#targets.set(key, target)
    else this.#targets.delete(key)
    if (!same(before, target)) for (const listener of this.#listeners) listener(key)
  }

  /** The listener is called with the key of every server whose target changed. */
  onChange(listener: (key: string) => void): void {
    this.#listeners.add(listener)
  }
}

/** Whether both reach the same server at the same endpoint and revision, so that its lists are the same. */
export function isSameEndpoint(before: Target | undefined, now: Target | undefined): boolean {
  return (
    before?.server.metadata.uid === now?.server.metadata.uid &&
    before?.endpoint.revision === now?.endpoint.revision &&
    before?.revision === now?.revision
  )
}

function same(before: Target | undefined, now: Target | undefined): boolean {
  return isSameEndpoint(before, now) && before?.server.metadata.generation === now?.server.metadata.generation
}
