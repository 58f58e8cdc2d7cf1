/**
 * Routers of a gateway exchange logins over their admin ports, in signed and encrypted requests: one router renews a login for all, and the others
 * ask it; a new login is sent to all of them at once.
 */
import { hash } from 'node:crypto'
import { type LoginRecord, MAX_LOGIN_CHARACTERS } from '../../core/catalog/login-records.ts'
import { Fault, messageOf } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { type User, userNamed } from '../../core/mcp/user.ts'
import type { InternalCredentials } from '../access/internal-credential.ts'
import type { App } from '../http/app.ts'
import {
  addPeerPage,
  askPeer,
  createPeerAgent,
  type PeerAnswer,
  peerProblem,
  REFUSED_PEER,
} from '../http/peer-requests.ts'
import type { KeptLogin } from './kept-login.ts'
import type { LoginServer, Logins, Renewal } from './logins.ts'
import type { Seal } from './seal.ts'
import type { SealedLogins } from './sealed-logins.ts'

export type RenewalPeers = {
  /** Origins of the admin ports of the gateway's routers; with or without this one. Rejects if they cannot be found. */
  peers: () => Promise<readonly string[]>
  /** The origin of this router. */
  own: string
  credentials: InternalCredentials
}

export type RenewalsOptions = { store: SealedLogins; seal: Seal; log: Log }

export const RENEWALS_PATH = '/logins'
/** How long another router may take to renew a login: it gives the authorization server ten seconds. */
const ANSWER_TIMEOUT_MS = 12_000
/** How long another router may take to accept a login: short, since a person waits. */
const SHARE_TIMEOUT_MS = 2_000
const MAX_ANSWER_BYTES = 2 * MAX_LOGIN_CHARACTERS
/** Requests are sealed with this `about`, so that no other sealed text passes for one. */
const ABOUT = 'renewal'

/** `record`: the login as the asking router knows it, which may be newer than here. Without a `subject`, the router only passes on the login. */
type Asked = { record: LoginRecord; subject?: string; rejected?: string }

export class Renewals {
  readonly #options: RenewalsOptions
  readonly #agent = createPeerAgent()
  #peers: RenewalPeers | undefined
  #isRetired = false

  constructor(options: RenewalsOptions) {
    this.#options = options
  }

  /** Tells it how to reach the other routers. As long as this is not called, this router counts as the only one. */
  attach(peers: RenewalPeers): void {
    this.#peers = peers
  }

  close(): Promise<void> {
    return this.#agent.destroy()
  }

  /** Implements `LoginsOptions.elsewhere`: asks the routers in the order in which they are responsible, until one can be reached. */
  async elsewhere({ kept, user, rejected }: Renewal): Promise<{ login: KeptLogin | undefined } | undefined> {
    const { store, log } = this.#options
    const peers = this.#peers
    const record = store.record(kept, user)
    if (!peers || !record) return undefined
    const others = await peers.peers().catch(() => [])
    for (const origin of inOrder([...new Set([...others, peers.own])], record.id)) {
      if (origin === peers.own) return undefined
      try {
        const asked = { record, subject: user.subject, ...(rejected !== undefined && { rejected }) }
        const renewed = await this.#ask(peers, origin, asked, ANSWER_TIMEOUT_MS)
        if (renewed?.id === record.id && renewed.server === record.server) store.adopt(renewed)
        return { login: renewed && (await store.read(kept.name, kept.url, user)) }
      } catch (error) {
        if (error instanceof Fault) throw error
        log.warn(
          { origin, error: messageOf(error) },
          'cannot renew a login at the router that is responsible',
        )
      }
    }
    return undefined
  }

  /** Sends a login to the other routers. Those that cannot be reached read it later, from its Secret. */
  async share(login: Pick<KeptLogin, 'name' | 'url'>, user: User): Promise<void> {
    const record = this.#options.store.record(login, user)
    if (record) await this.tell([record])
  }

  /** Sends logins to the other routers. Returns those that one of them has now, and will report to the operator too. */
  async tell(records: readonly LoginRecord[]): Promise<LoginRecord[]> {
    const peers = this.#peers
    if (!peers) return []
    const found = await peers.peers().catch(() => [])
    const others = found.filter(origin => origin !== peers.own)
    const tellAll = (record: LoginRecord) =>
      Promise.allSettled(others.map(origin => this.#ask(peers, origin, { record }, SHARE_TIMEOUT_MS)))
    const answers = await Promise.all(records.map(tellAll))
    return records.filter((_, at) => answers[at]?.some(({ status }) => status === 'fulfilled'))
  }

  /** From now on the other routers renew logins, and keep those that they are sent. */
  retire(): void {
    this.#isRetired = true
  }

  /** Adds the page that answers the other routers. */
  addPage(app: App, logins: Logins, serverOf: (name: string) => LoginServer | undefined): void {
    const answer = async (body: string): Promise<PeerAnswer> => {
      const asked = this.#open(body)
      if (!asked) return REFUSED_PEER
      try {
        const answered = await this.#answer(asked, logins, serverOf(asked.record.server))
        return { status: answered ? 200 : 409, text: JSON.stringify(answered ?? {}) }
      } catch (error) {
        return peerProblem(503, error instanceof Fault ? error.message : 'Internal error')
      }
    }
    addPeerPage(app, { path: RENEWALS_PATH, credentials: () => this.#peers?.credentials, answer })
  }

  /** Undefined if this router is ending, cannot open the login, does not know the server, or knows it with another configuration. An answer without a record: the user has to log in. */
  async #answer(
    { record, subject, rejected }: Asked,
    logins: Logins,
    server: LoginServer | undefined,
  ): Promise<{ record?: LoginRecord } | undefined> {
    const { store } = this.#options
    if (!server || this.#isRetired) return undefined
    const isKept = store.adopt(record) || store.adoptDeletion(record)
    if (subject === undefined) return isKept ? {} : undefined
    const user: User | undefined = userNamed(subject)
    if (!user) return undefined
    const { name, upstream } = server
    if (store.record({ name, url: upstream.url }, user)?.id !== record.id) return undefined
    const login = await logins.newest(server, user, rejected, true)
    return { record: login && store.record(login, user) }
  }

  /** Throws a Fault if the other router cannot renew the login now, and other errors if that router cannot be reached or refuses. */
  async #ask(
    { credentials }: RenewalPeers,
    origin: string,
    asked: Asked,
    timeoutMs: number,
  ): Promise<LoginRecord | undefined> {
    const body = this.#options.seal.close(JSON.stringify(asked), ABOUT)
    const signal = AbortSignal.timeout(timeoutMs)
    const request = { path: RENEWALS_PATH, body, credentials, signal, maxAnswerBytes: MAX_ANSWER_BYTES }
    const { status, text } = await askPeer(this.#agent, origin, request)
    if (status === 503)
      throw new Fault('upstream_unreachable', 'The login cannot be renewed at the moment', {
        retryable: true,
      })
    const answer: unknown = JSON.parse(text)
    if (status !== 200 || !isObject(answer)) throw new Error(`status ${status}`)
    return answer.record as LoginRecord | undefined
  }

  #open(body: string): Asked | undefined {
    const text = this.#options.seal.open(body, ABOUT)
    return text === undefined ? undefined : (JSON.parse(text) as Asked)
  }
}

/** The routers in the order in which they are responsible. It is the same at all routers that know the same ones, and stable when one comes or goes. */
function inOrder(origins: readonly string[], id: string): string[] {
  const weight = (origin: string) => hash('sha256', `${origin} ${id}`)
  return [...origins].sort((a, b) => (weight(a) < weight(b) ? -1 : 1))
}
