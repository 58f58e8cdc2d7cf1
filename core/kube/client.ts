/** The verbs of the API server on objects of the kinds we use. */
import type { Access } from './access.ts'
import { ApiError, errorOfStatus, isNotFound } from './api-error.ts'
import { homePath, listPath, objectPath } from './kinds.ts'
import { readLines } from './lines.ts'
import { type Kind, type KubeObject, type ObjectRef, refOf } from './object.ts'
import { Transport, type TransportOptions } from './transport.ts'

const PAGE_OBJECTS = 250
const MAX_PAGES = 400
const APPLY = 'application/apply-patch+yaml'

/** Of a query that is `metadataOnly` the API server sends this, for each object or page of them. */
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'

/** Which objects: all of a kind, or those in one namespace, with these labels, or by these fields (`metadata.name=x`). */
export type Query = Kind & {
  namespace?: string
  labelSelector?: string
  fieldSelector?: string
  /** Objects come without their content: a Secret's values stay where they are. */
  metadataOnly?: boolean
}
export type List<T> = { items: T[]; resourceVersion: string }
export type ApplyOptions = {
  fieldManager: string
  /** Takes over fields that another manager owns; without it that is a conflict. */
  force?: boolean
}
export type Preconditions = { uid?: string; resourceVersion?: string }
export type WatchEvent<T> = { type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; object: T }
export type WatchOptions = { resourceVersion: string; timeoutSeconds: number }

/** Reads only: what the router may have. */
export type KubeReader = Pick<KubeClient, 'get' | 'list' | 'watch'>

/**
 * A client of one API server; one a process is enough. Every method rejects with ApiError where the server refuses or cannot be
 * reached, and with the fault of `signal` where that aborts. Nothing is repeated, except once after a 401 with fresh credentials.
 */
export class KubeClient {
  readonly namespace: string
  readonly #transport: Transport

  constructor(access: Access, options: TransportOptions = {}) {
    this.namespace = access.namespace
    this.#transport = new Transport(access, options)
  }

  /** The object, or undefined where there is none. */
  async get<T extends KubeObject>(ref: ObjectRef, signal?: AbortSignal): Promise<T | undefined> {
    try {
      return parse(await this.#transport.send({ method: 'GET', path: objectPath(ref) }, signal)) as T
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  /** All objects as of one moment, read page by page. */
  async list<T extends KubeObject>(query: Query, signal?: AbortSignal): Promise<List<T>> {
    const { apiVersion, kind } = query
    const items: T[] = []
    let next: string | undefined
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const page = await this.#page<T>(query, next, signal)
      // the items of a list do not say what they are
      for (const item of page.items ?? []) items.push({ ...item, apiVersion, kind })
      if (!page.metadata.continue) return { items, resourceVersion: page.metadata.resourceVersion }
      next = page.metadata.continue
    }
    throw new ApiError(
      0,
      'TooLarge',
      `There are more than ${MAX_PAGES * PAGE_OBJECTS} objects of kind ${kind}`,
    )
  }

  /** What happened after `resourceVersion`, until the server ends it after `timeoutSeconds`. Throws where it breaks. */
  async *watch<T extends KubeObject>(
    query: Query,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<T>> {
    const { apiVersion, kind, metadataOnly } = query
    const path = listPath(query, query.namespace)
    const where = { ...selectorsOf(query), ...options, watch: true, allowWatchBookmarks: true }
    const accept = metadataOnly ? METADATA : undefined
    const body = await this.#transport.open({ method: 'GET', path, query: where, accept }, signal)
    for await (const line of readLines(body, signal)) {
      const event = parse(line) as WatchEvent<T> | { type: 'ERROR'; object: Record<string, unknown> }
      if (event.type === 'ERROR') throw errorOfStatus(event.object)
      yield metadataOnly ? { ...event, object: { ...event.object, apiVersion, kind } } : event
    }
  }

  async create<T extends KubeObject>(object: T, signal?: AbortSignal): Promise<T> {
    const path = homePath(object, object.metadata.namespace)
    return this.#write<T>({ method: 'POST', path, body: JSON.stringify(object) }, signal)
  }

  /** Writes the whole object, if `metadata.resourceVersion` is still the one in the cluster. */
  async replace<T extends KubeObject>(object: T, signal?: AbortSignal): Promise<T> {
    return this.#write<T>(
      { method: 'PUT', path: objectPath(refOf(object)), body: JSON.stringify(object) },
      signal,
    )
  }

  /** Server-side apply: makes the object, or changes the given fields. With a uid it must be that very object, else it is a conflict. */
  async apply<T extends KubeObject>(object: T, options: ApplyOptions, signal?: AbortSignal): Promise<T> {
    return this.#apply<T>(objectPath(refOf(object)), object, options, signal)
  }

  /** Server-side apply of the status alone; whatever else the object holds is left out. */
  async applyStatus<T extends KubeObject & { status?: unknown }>(
    object: T,
    options: ApplyOptions,
    signal?: AbortSignal,
  ): Promise<T> {
    const ref = refOf(object)
    const { apiVersion, kind, namespace, name } = ref
    const body = { apiVersion, kind, metadata: { namespace, name }, status: object.status }
    return this.#apply<T>(`${objectPath(ref)}/status`, body, options, signal)
  }

  /** Deletes an object and, in the background, what it owns. False where there is none; a broken precondition is a conflict. */
  async delete(ref: ObjectRef, preconditions: Preconditions = {}, signal?: AbortSignal): Promise<boolean> {
    const options = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      propagationPolicy: 'Background',
      preconditions,
    }
    try {
      await this.#transport.send(
        { method: 'DELETE', path: objectPath(ref), body: JSON.stringify(options) },
        signal,
      )
      return true
    } catch (error) {
      if (isNotFound(error)) return false
      throw error
    }
  }

  /** Ends all that is under way. */
  close(): Promise<void> {
    return this.#transport.close()
  }

  async #page<T>(query: Query, next: string | undefined, signal?: AbortSignal) {
    const where = { ...selectorsOf(query), limit: PAGE_OBJECTS, continue: next }
    const path = listPath(query, query.namespace)
    const accept = query.metadataOnly ? METADATA_LIST : undefined
    const text = await this.#transport.send({ method: 'GET', path, query: where, accept }, signal)
    return parse(text) as { metadata: { resourceVersion: string; continue?: string }; items: T[] | null }
  }

  async #write<T>(request: Parameters<Transport['send']>[0], signal?: AbortSignal): Promise<T> {
    return parse(await this.#transport.send(request, signal)) as T
  }

  async #apply<T>(
    path: string,
    body: object,
    { fieldManager, force }: ApplyOptions,
    signal?: AbortSignal,
  ): Promise<T> {
    const query = { fieldManager, force }
    try {
      return await this.#write<T>(
        { method: 'PATCH', path, query, body: JSON.stringify(body), contentType: APPLY },
        signal,
      )
    } catch (error) {
      throw isAnotherObject(error) ? new ApiError(409, 'Conflict', error.message, { cause: error }) : error
    }
  }
}

function selectorsOf({ labelSelector, fieldSelector }: Query) {
  return { labelSelector, fieldSelector }
}

/** Where an object of the name stands with another uid the API server says 422, though 409 where none stands. */
function isAnotherObject(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 422 && error.message.includes('metadata.uid: Invalid')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ApiError(0, 'Unreadable', 'The answer of the API server is not JSON', { cause: error })
  }
}
