/** Compares the tools of pinned servers with the approved ones, which are stored in separate ConfigMaps. */
import { hiddenTextIn } from '../../core/catalog/hidden-text.ts'
import { pinTools, withHeld } from '../../core/catalog/pin.ts'
import type { CatalogTool, ServerCatalog, ToolDefinition } from '../../core/catalog/server-catalog.ts'
import { encodeSlices } from '../../core/catalog/slices.ts'
import {
  changesLine,
  definitionsOf,
  digestOfTools,
  type ToolChanges,
} from '../../core/catalog/tool-changes.ts'
import { Fault } from '../../core/errors.ts'
import { ApiError } from '../../core/kube/api-error.ts'
import { readApproved } from '../../core/kube/catalog.ts'
import type { KubeClient } from '../../core/kube/client.ts'
import { refOf } from '../../core/kube/object.ts'
import type { Log } from '../../core/log.ts'
import { approveOf } from '../../crds/annotations.ts'
import { approvedObjects, isApprovedToolsConfigMap } from '../plan/slice-objects.ts'
import type { Applier } from '../runtime/apply.ts'
import type { Caches } from '../runtime/caches.ts'
import type { PinnedList } from './pin-status.ts'
import type { Discovered } from './publish.ts'

export type PinsOptions = {
  client: Pick<KubeClient, 'get'>
  caches: Pick<Caches, 'find' | 'ownedBy'>
  applier: Applier
  log: Log
}

export class Pins {
  readonly #options: PinsOptions
  /** The last line logged about each server, by uid. */
  readonly #logged = new Map<string, { changes?: string; hidden?: string }>()

  constructor(options: PinsOptions) {
    this.#options = options
  }

  /**
   * Decides which tools of a list are served. `catalog` is newly discovered or already published. Stores newly approved tools before it
   * returns, so that a status never reports an approval that could be lost. `approved`: the digest of the approved tools in the last status.
   */
  async apply(
    discovered: Discovered,
    catalog: ServerCatalog,
    approved: string | undefined,
    signal: AbortSignal,
  ): Promise<PinnedList> {
    const { object, server } = discovered
    const found = withHeld(catalog)
    const hidden = hiddenTextIn(found)
    const { tools: policy } = server.spec
    const before = policy.pin ? await this.#approved(discovered, found, approved, signal) : undefined
    const pinned = pinTools(found, { policy, approved: before, approve: approveOf(object) })
    const isKept = pinned.approved === undefined || pinned.approved === before
    if (policy.pin && !isKept) await this.#store(discovered, found, signal)
    const list = { ...pinned, ...(hidden && { hidden }) }
    this.#log(discovered, list)
    return list
  }

  /** Call when the server is gone. */
  forget(uid = ''): void {
    this.#logged.delete(uid)
  }

  /**
   * The approved tools; undefined before the first approval. If the stored tools are lost or damaged, only tools with the digest in the status are
   * approved.
   */
  async #approved(
    { object, server }: Discovered,
    found: ServerCatalog,
    approved: string | undefined,
    signal: AbortSignal,
  ): Promise<readonly ToolDefinition[] | undefined> {
    const { namespace = '', name, uid } = object.metadata
    try {
      const kept = await readApproved(this.#options.client, namespace, name, signal)
      if (kept.serverInfo?.uid === uid) return definitionsOf(kept)
    } catch (error) {
      if (error instanceof ApiError || !(error instanceof Fault)) throw error
      if (error.code !== 'not_found') return this.#withoutStored(server.metadata.name, found, approved)
    }
    return approved === undefined ? undefined : this.#withoutStored(server.metadata.name, found, approved)
  }

  /**
   * What to compare with if the stored tools are lost: no tool is approved. Undefined, as before a first approval, if the discovered
   * tools have the approved digest; then they are stored again.
   */
  #withoutStored(
    server: string,
    found: ServerCatalog,
    approved: string | undefined,
  ): ToolDefinition[] | undefined {
    if (digestOfTools(definitionsOf(found)) === approved) return undefined
    this.#options.log.warn({ server, approved }, 'the approved tools are lost: none is approved')
    return []
  }

  /** Stores the discovered tools as the approved ones. */
  async #store(
    { key, object, server }: Discovered,
    found: ServerCatalog,
    signal: AbortSignal,
  ): Promise<void> {
    const { applier, caches, log } = this.#options
    const objects = approvedObjects(server, encodeSlices(approvedCatalog(object.metadata.uid, found)))
    const { taken, refused } = await applier.apply(object, objects, caches.find, signal)
    if (taken[0])
      throw new Fault(
        'conflict',
        `The ConfigMap "${taken[0].name}" has another owner: delete it, or rename the server`,
      )
    if (refused !== undefined) throw new Fault('bad_request', refused)
    const owned = caches
      .ownedBy(object.metadata.uid ?? '')
      .filter(one => isApprovedToolsConfigMap(one, server.metadata.name))
    await applier.prune(object, objects.map(refOf), owned, signal)
    const digest = digestOfTools(definitionsOf(found))
    log.info({ server: key, tools: found.tools.length, digest }, 'tools approved')
  }

  #log({ key, object, server }: Discovered, { changes, hidden }: PinnedList): void {
    const { log } = this.#options
    const { uid = '' } = object.metadata
    const last = this.#logged.get(uid)
    const now = { changes: changes?.digest, hidden: hidden && JSON.stringify(hidden) }
    this.#logged.set(uid, now)
    if (changes && now.changes !== last?.changes) {
      const { pin } = server.spec.tools
      log.warn({ server: key, pin, ...changeFields(changes) }, 'tools changed since they were approved')
    }
    if (hidden && now.hidden !== last?.hidden)
      log.warn({ server: key, hidden: hidden.findings, texts: hidden.count }, 'text hides characters')
  }
}

function changeFields(changes: ToolChanges): { changes: string; digest: string } {
  return { changes: changesLine(changes), digest: changes.digest }
}

/** Only the tools, as a catalog, since slices contain catalogs. With `uid`, a new server of the same name does not inherit approvals. */
function approvedCatalog(uid: string | undefined, { server, protocol, tools }: ServerCatalog): ServerCatalog {
  const empty = { invalid: [], resources: [], resourceTemplates: [], prompts: [], incomplete: [] }
  const digest = digestOfTools(definitionsOf({ tools }))
  return { server, protocol, serverInfo: { uid }, capabilities: {}, tools: sorted(tools), ...empty, digest }
}

function sorted(tools: readonly CatalogTool[]): CatalogTool[] {
  return tools.toSorted((a, b) => (a.definition.name < b.definition.name ? -1 : 1))
}
