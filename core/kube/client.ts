/** A client for the objects of an API server: get, list, watch, create, replace, apply, delete. */
import type { Access } from './access.ts'
import { ApiError, errorOfStatus, isNotFound } from './api-error.ts'
import { homePath, listPath, objectPath } from './kinds.ts'
import { readLines } from './lines.ts'
import { type Kind, type KubeObject, type ObjectMeta, type ObjectRef, refOf } from './object.ts'
import { Transport, type TransportOptions } from './transport.ts'

const PAGE_OBJECTS = 250
const MAX_OBJECTS = 100_000
const APPLY = 'application/apply-patch+yaml'
const MERGE = 'application/merge-patch+json'

/** What a `metadataOnly` query accepts: the API server then sends only the metadata of each object. */
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'

/** Selects objects: all of a kind, or only those in one namespace, with these labels, or with these fields (`metadata.name=x`). */
export type Query = Kind & {
  namespace?: string
  labelSelector?: string
  fieldSelector?: string
  /** Objects are read without spec, status and data; for example, a Secret's values are not transferred. */
  metadataOnly?: boolean
}
export type List<T> = { items: T[]; resourceVersion: string }
export type ApplyOptions = {
  fieldManager: string
  /** Takes over fields that another manager owns; without `force` they are a conflict. */
  force?: boolean
}
export type Preconditions = { uid?: string; resourceVersion?: string }
export type WatchEvent<T> = { type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; object: T }
export type WatchOptions = { resourceVersion: string; timeoutSeconds: number }

/** The read-only methods, which are all that the router may use. */
export type KubeReader = Pick<KubeClient, 'get' | 'list' | 'watch'>

/**
 * A client of one API server; a process needs only one. Every method rejects with ApiError if the server refuses or cannot be reached,
 * and with the fault of `signal` if that aborts. Requests are not retried, except once after a 401 if the credentials have changed.
 */
export class KubeClient {
  readonly namespace: string
  readonly #transport: Transport

  constructor(access: Access, options: TransportOptions = {}) {
    this.namespace = access.namespace
    this.#transport = new Transport(access, options)
  }

  /** Returns the object, or undefined if it does not exist. */
  async get<T extends KubeObject>(ref: ObjectRef, signal?: AbortSignal): Promise<T | undefined> {
    try {
      return parse(await this.#transport.send({ method: 'GET', path: objectPath(ref) }, signal)) as T
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  /** Returns all objects as of one resourceVersion, read page by page. */
  async list<T extends KubeObject>(query: Query, signal?: AbortSignal): Promise<List<T>> {
    const { apiVersion, kind } = query
    const items: T[] = []
    let next: string | undefined
    let limit = PAGE_OBJECTS
    for (let pages = 0; pages < MAX_OBJECTS && items.length < MAX_OBJECTS; pages++) {
      const page = await this.#page<T>(query, limit, next, signal).catch(error => {
        if (!isTooLarge(error) || limit === 1) throw error
        return undefined
      })
      if (!page) {
        limit = Math.floor(limit / 2)
        continue
      }
      // The items of a list have no apiVersion and kind.
      for (const item of page.items ?? []) items.push({ ...item, apiVersion, kind })
      if (!page.metadata.continue) return { items, resourceVersion: page.metadata.resourceVersion }
      next = page.metadata.continue
    }
    throw new ApiError(0, 'TooLarge', `There are more than ${MAX_OBJECTS} objects of kind ${kind}`)
  }

  /** Yields all changes after `resourceVersion`, until the server ends the watch after `timeoutSeconds`. Throws if the connection breaks. */
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

  /** Creates the object and returns it as stored. If it exists, rejects with the reason `AlreadyExists`. */
  async create<T extends KubeObject>(object: T, signal?: AbortSignal): Promise<T> {
    const path = homePath(object, object.metadata.namespace)
    return this.#write<T>({ method: 'POST', path, body: JSON.stringify(object) }, signal)
  }

  /** Overwrites the whole object; a conflict if `metadata.resourceVersion` is not the current one. */
  async replace<T extends KubeObject>(object: T, signal?: AbortSignal): Promise<T> {
    return this.#write<T>(
      { method: 'PUT', path: objectPath(refOf(object)), body: JSON.stringify(object) },
      signal,
    )
  }

  /** Server-side apply: creates the object, or changes the given fields. If `metadata.uid` is set and differs, it is a conflict. */
  async apply<T extends KubeObject>(object: T, options: ApplyOptions, signal?: AbortSignal): Promise<T> {
    return this.#apply<T>(objectPath(refOf(object)), object, options, signal)
  }

  /** Changes only the given metadata; a conflict if `resourceVersion` is not the current one. */
  async patchMetadata(
    ref: ObjectRef,
    metadata: Partial<ObjectMeta> & { resourceVersion: string },
    signal?: AbortSignal,
  ): Promise<void> {
    const request = { method: 'PATCH', path: objectPath(ref), contentType: MERGE } as const
    await this.#transport.send({ ...request, body: JSON.stringify({ metadata }) }, signal)
  }

  /** Server-side apply of the status only; the other fields of `object` are not sent. */
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

  /** Deletes an object and, in the background, its dependents. False if it does not exist; an unmet precondition is a conflict. */
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

  /** Cancels all requests and watches. */
  close(): Promise<void> {
    return this.#transport.close()
  }

  async #page<T>(query: Query, limit: number, next: string | undefined, signal?: AbortSignal) {
    const where = { ...selectorsOf(query), limit, continue: next }
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
      throw isUidMismatch(error) ? new ApiError(409, 'Conflict', error.message, { cause: error }) : error
    }
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof ApiError && error.reason === 'TooLarge'
}

function selectorsOf({ labelSelector, fieldSelector }: Query) {
  return { labelSelector, fieldSelector }
}

/** The API server answers 422 if the existing object has another uid than the applied one (and 409 if there is no object). */
function isUidMismatch(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 422 && error.message.includes('metadata.uid: Invalid')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ApiError(0, 'Unreadable', 'The answer of the API server is not JSON', { cause: error })
  }
}
