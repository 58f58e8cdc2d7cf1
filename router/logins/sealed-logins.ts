/**
 * Logins in a cluster: sealed values in Secrets, which the operator writes. A new value of this router counts at once, and is reported to the operator until the
 * Secret has it, or a newer one.
 */
import { createHmac } from 'node:crypto'
import type { Clock } from '../../core/async.ts'
import {
  allLoginsNames,
  isDeletedLogin,
  type LoginRecord,
  loginsName,
  MAX_LOGIN_CHARACTERS,
  MAX_LOGINS_AT_ONCE,
  newerLogin,
  timeOfLogin,
} from '../../core/catalog/login-records.ts'
import { Fault } from '../../core/errors.ts'
import type { SecretValues } from '../../core/kube/secret.ts'
import type { User } from '../../core/mcp/user.ts'
import { isKeptLogin, type KeptLogin, type LoginStore } from './kept-login.ts'
import type { Seal } from './seal.ts'

export type SealedLoginsOptions = {
  key: Uint8Array
  seal: Seal
  /** The values of a Secret, by key. */
  secret: (name: string) => SecretValues | undefined
  clock: Clock
}

/** Limit for new logins of a server that the operator has not written yet. Each has a few kilobytes. */
const MAX_WAITING = MAX_LOGINS_AT_ONCE
/** A deletion is dated this far in the future, so that it counts as newer than the result of a renewal that is running. */
const DELETED_AHEAD_MS = 30_000

export class SealedLogins implements LoginStore {
  readonly #options: SealedLoginsOptions
  /** Records that the operator has not written yet, as far as known here; by id. */
  readonly #waiting = new Map<string, LoginRecord>()
  readonly #listeners = new Set<() => void>()

  constructor(options: SealedLoginsOptions) {
    this.#options = options
  }

  async read(name: string, url: string, user: User): Promise<KeptLogin | undefined> {
    const id = this.#idOf(name, url, user)
    const login = this.#open(id, this.#newest(name, id))
    return login?.name === name && login.url === url && login.subject === user.subject ? login : undefined
  }

  /** Throws Fault unavailable if too many new logins at the server wait for the operator. */
  async write(login: KeptLogin, user: User): Promise<void> {
    const id = this.#idOf(login.name, login.url, user)
    this.#put(login.name, id, JSON.stringify(login))
  }

  async delete(name: string, url: string, user: User): Promise<void> {
    const id = this.#idOf(name, url, user)
    // Only just newer than the login that was read, so that any later login stays.
    this.#keep({ server: name, id, value: `${timeOfLogin(this.#newest(name, id)) + 1}.` })
  }

  /** Logins of these servers that the operator has to write: as many as it reads at once, those first that were not returned before. */
  waiting(isServed: (server: string) => boolean): LoginRecord[] {
    const records = this.unwritten(isServed).slice(0, MAX_LOGINS_AT_ONCE)
    for (const record of records) {
      this.#waiting.delete(record.id)
      this.#waiting.set(record.id, record)
    }
    return records
  }

  /** All logins of these servers that the operator has to write. */
  unwritten(isServed: (server: string) => boolean): LoginRecord[] {
    for (const [id, { server, value }] of this.#waiting) {
      const kept = this.#kept(server, id)
      if (!isServed(server) || (kept !== undefined && newerLogin(kept, value) === kept))
        this.#waiting.delete(id)
    }
    return [...this.#waiting.values()]
  }

  /** Calls `listener` when another login waits for the operator. Returns a function that unsubscribes. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** All logins at a server, at any of its URLs. */
  list(server: string): { id: string; login: KeptLogin }[] {
    const kept = allLoginsNames(server).flatMap(name => Object.keys(this.#options.secret(name) ?? {}))
    const unwritten = [...this.#waiting].filter(([, record]) => record.server === server).map(([id]) => id)
    return [...new Set([...kept, ...unwritten])].sort().flatMap(id => {
      const login = this.#open(id, this.#newest(server, id))
      return login ? [{ id, login }] : []
    })
  }

  /** Deletes a login; false if there is none with this id. */
  deleteById(server: string, id: string): boolean {
    if (!this.#open(id, this.#newest(server, id))) return false
    this.#put(server, id, '', DELETED_AHEAD_MS)
    return true
  }

  /** Takes a sealed login that another router of the gateway sent; false if it cannot be opened. */
  adopt({ server, id, value }: LoginRecord): boolean {
    if (!this.#open(id, value)) return false
    this.#keep({ server, id, value })
    return true
  }

  /** Takes the deletion of a login, which is not sealed itself: only from a request that another router has sealed. False if the record is no deletion. */
  adoptDeletion({ server, id, value }: LoginRecord): boolean {
    if (!isDeletedLogin(value)) return false
    this.#keep({ server, id, value })
    return true
  }

  /** The sealed login, as other routers know it; undefined if there is none. */
  record(login: Pick<KeptLogin, 'name' | 'url'>, user: User): LoginRecord | undefined {
    const id = this.#idOf(login.name, login.url, user)
    const value = this.#newest(login.name, id)
    return value === undefined ? undefined : { server: login.name, id, value }
  }

  /** An HMAC of server, URL and user, so that the keys in Secrets disclose no user. */
  #idOf(name: string, url: string, { key }: User): string {
    const text = `portolan login ${JSON.stringify([name, url, key])}`
    return createHmac('sha256', this.#options.key).update(text).digest('hex')
  }

  /** The value that the operator has written. */
  #kept(server: string, id: string): string | undefined {
    return this.#options.secret(loginsName(server, id))?.[id]
  }

  #newest(server: string, id: string): string | undefined {
    return newerLogin(this.#kept(server, id), this.#waiting.get(id)?.value)
  }

  #open(id: string, value: string | undefined): KeptLogin | undefined {
    const sealed = value?.slice(value.indexOf('.') + 1)
    const text = sealed ? this.#options.seal.open(sealed, aboutOf(id, timeOfLogin(value))) : undefined
    const login: unknown = text === undefined ? undefined : JSON.parse(text)
    return isKeptLogin(login) ? login : undefined
  }

  /** Seals and keeps a login. An empty text, which is not sealed, means that the login was deleted. */
  #put(server: string, id: string, text: string, aheadMs = 0): void {
    // Later than the value that it replaces, even if the clock of another machine was ahead.
    const at = Math.max(this.#options.clock.now() + aheadMs, timeOfLogin(this.#newest(server, id)) + 1)
    const value = `${at}.${text === '' ? '' : this.#options.seal.close(text, aboutOf(id, at))}`
    if (value.length > MAX_LOGIN_CHARACTERS)
      throw new Fault(
        'upstream_protocol',
        'The authorization server issues tokens that are too long to be kept',
      )
    this.#keep({ server, id, value })
  }

  #keep(record: LoginRecord): void {
    const newest = this.#newest(record.server, record.id)
    if (newerLogin(newest, record.value) !== record.value) return
    // A renewed login is always kept, since the refresh token before it can no longer be used.
    if (newest === undefined && this.#waitingOf(record.server) >= MAX_WAITING)
      throw new Fault('unavailable', 'Too many new logins at this server wait to be stored', {
        retryable: true,
      })
    this.#waiting.set(record.id, record)
    for (const listener of this.#listeners) listener()
  }

  #waitingOf(server: string): number {
    return [...this.#waiting.values()].filter(record => record.server === server).length
  }
}

/** A value can be opened only with its id and its time, so that nobody can restore an old one. */
function aboutOf(id: string, at: number): string {
  return `${id} ${at}`
}
