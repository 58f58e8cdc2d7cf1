/** A child for each session. One more is kept warm: it shows that the server works, and is handed to the next who needs one. */
import { randomBytes } from 'node:crypto'
import type { Timer } from '../core/async.ts'
import { Fault } from '../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { waitFor } from '../core/mcp/deadline.ts'
import type { Sessions } from '../core/mcp/front/session.ts'
import type { Life } from '../core/mcp/stdio/life.ts'
import type { Asked, SessionSpec } from '../core/mcp/stdio/session.ts'
import { stoppedFault } from '../core/mcp/stdio/session-faults.ts'
import type { UpstreamAnswer, UpstreamCall, UpstreamInfo } from '../core/mcp/upstream.ts'
import { begin, type Children, type ChildrenDeps } from './children.ts'

type Seat = {
  /** The child, once a call needed one. */
  life?: Life
  /** What its client can be asked for, where that is anything: then it has no use for the warm child. */
  capabilities?: JsonObject
  /** It is being handed over. */
  taking?: Promise<Life>
  /** Calls that are served or wait. */
  calls: Set<UpstreamCall>
  idle?: Timer
}

/** Children in use at once. */
export const MAX_CHILDREN = 32
/** Sessions, most of which have no child: their clients have only listed what there is. */
const MAX_SESSIONS = 4_096
const ID_BYTES = 18
const ASKABLE = ['elicitation', 'sampling', 'roots']
/** A session that did nothing else has no state yet: the warm child gives the same answer. */
const LISTS = /^(?:tools|prompts|resources|resources\/templates)\/list$/

/** A session ends with its DELETE, with its child, or after `idleAfterMs` without a call. */
export class SessionChildren implements Children {
  readonly sessions: Sessions = {
    issue: params => this.#open(params),
    find: id => {
      const seat = this.#seats.get(id)
      return seat && { client: id, capabilities: seat.capabilities }
    },
    end: id => this.#endSession(id),
  }
  info: UpstreamInfo | undefined
  readonly #spec: SessionSpec
  readonly #idleAfterMs: number
  readonly #deps: ChildrenDeps
  readonly #closing = new AbortController()
  readonly #seats = new Map<string, Seat>()
  /** Children that are not warm any more, with the client of their session; those for a single call have none. */
  readonly #taken = new Map<Life, string | undefined>()
  readonly #leaving = new Set<Promise<void>>()
  #warm: Life

  constructor(spec: SessionSpec, idleAfterMs: number, deps: ChildrenDeps) {
    this.#spec = spec
    this.#idleAfterMs = idleAfterMs
    this.#deps = deps
    this.#warm = this.#begin()
  }

  get ready(): boolean {
    return [this.#warm, ...this.#taken.keys()].some(({ state }) => state.state === 'ready')
  }

  async request(call: UpstreamCall, signal: AbortSignal): Promise<UpstreamAnswer> {
    const { client, method } = call
    const usesWarm = LISTS.test(method)
    if (client === undefined)
      return usesWarm ? this.#warm.request(call, signal) : this.#callOnce(call, signal)
    const seat = this.#seats.get(client)
    if (!seat) throw stoppedFault()
    seat.idle?.cancel()
    seat.calls.add(call)
    try {
      const canWarm = usesWarm && !seat.capabilities
      const life = seat.life ?? (canWarm ? this.#warm : await this.#sit(client, seat, signal))
      return await life.request(call, signal)
    } finally {
      seat.calls.delete(call)
      this.#restLater(client, seat)
    }
  }

  tell(client: string, message: JsonObject): void {
    const isAnswer = message.method === undefined
    if (isAnswer || message.method === 'notifications/roots/list_changed')
      this.#seats.get(client)?.life?.tell(message)
  }

  async close(): Promise<void> {
    this.#closing.abort(stoppedFault())
    for (const client of [...this.#seats.keys()]) this.#endSession(client)
    for (const life of [this.#warm, ...this.#taken.keys()]) this.#drop(life)
    await Promise.all(this.#leaving)
  }

  #begin(clientCapabilities?: JsonObject): Life {
    const spec = { ...this.#spec, clientCapabilities }
    return begin(spec, this.#deps, {
      onState: life => this.#changed(life),
      onNotification: (notification, life) =>
        this.#deps.onNotification(notification, client => this.#hears(client, life)),
      onRequest: (request, life) => this.#ask(request, life),
      onHopeless: (failure, life) => {
        // with the process all sessions would end: those that have a child are let come to their end first
        if (life === this.#warm && this.#taken.size === 0) this.#deps.onHopeless(failure)
      },
    })
  }

  #hears(client: string | undefined, life: Life): boolean {
    const own = client === undefined ? undefined : this.#seats.get(client)?.life
    return (own ?? this.#warm) === life
  }

  /** On the stream of a call where one is in flight: it is most likely the one that the request belongs to. */
  #ask(request: Asked, life: Life): boolean {
    const client = this.#taken.get(life)
    const seat = client === undefined ? undefined : this.#seats.get(client)
    const kind = request.method.split('/', 1)[0] ?? ''
    if (client === undefined || seat?.capabilities?.[kind] === undefined) return false
    const notify = [...seat.calls].findLast(call => call.onNotification)?.onNotification
    notify?.(request)
    return notify !== undefined || this.#deps.onRequest(request, client)
  }

  #changed(life: Life): void {
    if (life === this.#warm) this.info = life.info ?? this.info
    // A child that is started again has forgotten what its client did.
    if (this.#taken.has(life) && life.state.state !== 'ready') this.#drop(life)
  }

  #open({ capabilities }: JsonObject): string {
    if (this.#seats.size >= MAX_SESSIONS) {
      const [oldest] = [...this.#seats].find(([, { life, calls }]) => !life && calls.size === 0) ?? []
      if (oldest !== undefined) this.#endSession(oldest)
    }
    const id = randomBytes(ID_BYTES).toString('base64url')
    const seat: Seat = { calls: new Set(), capabilities: askable(capabilities) }
    this.#seats.set(id, seat)
    this.#restLater(id, seat)
    return id
  }

  #restLater(client: string, seat: Seat): void {
    if (seat.calls.size > 0 || this.#seats.get(client) !== seat) return
    seat.idle?.cancel()
    seat.idle = this.#deps.clock.after(this.#idleAfterMs, () => this.#endSession(client))
  }

  #endSession(client: string): boolean {
    const seat = this.#seats.get(client)
    if (!seat) return false
    seat.idle?.cancel()
    this.#seats.delete(client)
    if (seat.life && this.#taken.has(seat.life)) this.#drop(seat.life)
    this.#deps.onSessionEnd(client)
    return true
  }

  /** Ends a child, and the session that it is of. */
  #drop(life: Life): void {
    const client = this.#taken.get(life)
    this.#taken.delete(life)
    const leaving = life.close().finally(() => this.#leaving.delete(leaving))
    this.#leaving.add(leaving)
    if (client !== undefined) this.#endSession(client)
  }

  /** The child of a session: its first calls share one handing over. */
  #sit(client: string, seat: Seat, signal: AbortSignal): Promise<Life> {
    const { capabilities } = seat
    const { signal: closing } = this.#closing
    const taking = () => (capabilities ? this.#start(client, capabilities) : this.#take(client, closing))
    seat.taking ??= taking()
      .then(life => {
        if (this.#seats.get(client) === seat) seat.life = life
        else this.#drop(life)
        return life
      })
      .finally(() => {
        seat.taking = undefined
      })
    return waitFor(seat.taking, signal)
  }

  async #callOnce(call: UpstreamCall, signal: AbortSignal): Promise<UpstreamAnswer> {
    const life = await this.#take(undefined, signal)
    try {
      return await life.request(call, signal)
    } finally {
      this.#drop(life)
    }
  }

  /** Hands over the warm child as soon as it is up; the next one is started at once. */
  async #take(client: string | undefined, signal: AbortSignal): Promise<Life> {
    for (;;) {
      this.#checkRoom()
      const life = this.#warm
      await life.connect(signal)
      if (life !== this.#warm || this.#taken.size >= MAX_CHILDREN) continue // another was faster
      this.#taken.set(life, client)
      this.#warm = this.#begin()
      return life
    }
  }

  /** A child that may ask its client for something has to know from the start what. */
  async #start(client: string, capabilities: JsonObject): Promise<Life> {
    this.#checkRoom()
    const life = this.#begin(capabilities)
    this.#taken.set(life, client)
    await life.connect(this.#closing.signal)
    return life
  }

  #checkRoom(): void {
    if (this.#taken.size < MAX_CHILDREN) return
    const minutes = (this.#idleAfterMs / 60_000).toFixed(1).replace('.0', '')
    const message =
      `All ${MAX_CHILDREN} sessions of the server are in use; one becomes free when its client ends it, ` +
      `or after ${minutes} min without a call`
    throw new Fault('upstream_busy', message, { retryable: true, details: { sessions: MAX_CHILDREN } })
  }
}

/** Of what a client declares, what a server may ask it for; undefined where that is nothing. */
function askable(declared: JsonValue | undefined): JsonObject | undefined {
  if (!isObject(declared)) return undefined
  const found = ASKABLE.filter(name => isObject(declared[name])).map(name => [name, declared[name]])
  return found.length > 0 ? Object.fromEntries(found) : undefined
}
