/** Sets the log level of a 2025 upstream (`logging/setLevel`) before the first call whose caller wants that level. */
import type { Clock } from '../../../async.ts'
import { OURSELVES } from '../../caller.ts'
import type { McpResponse } from '../../protocol/json-rpc.ts'
import { LOG_LEVELS } from '../../protocol/log-levels.ts'
import type { UpstreamCall } from '../../upstream.ts'
import { upstreamDeadline } from '../../upstream-deadline.ts'

const MAX_ANSWER_BYTES = 64 * 1024
/** The longest that a call waits until the level is set. */
const TIMEOUT_MS = 2_000

type Ask = (call: UpstreamCall, signal: AbortSignal) => Promise<McpResponse | 'lost'>

export class LogLevel {
  readonly #ask: Ask
  readonly #clock: Clock
  /** True: the session belongs to one client. False: it is shared, and the most verbose requested level applies. */
  readonly #own: boolean
  #level: string | undefined
  #setting: Promise<unknown> = Promise.resolve()

  constructor(ask: Ask, clock: Clock, own: boolean) {
    this.#ask = ask
    this.#clock = clock
    this.#own = own
  }

  /**
   * Sets the level for a call, which waits for the returned promise; undefined if the level is already set. The upstream's answer does not
   * affect the call.
   */
  ahead(level: string | undefined, signal: AbortSignal): Promise<unknown> | undefined {
    if (level === undefined || level === this.#level) return undefined
    if (!this.#own && this.#level !== undefined && !isMoreVerbose(level, this.#level)) return undefined
    this.#level = level
    this.#setting = this.#setting.then(() => this.#set(level, signal))
    return this.#setting
  }

  async #set(level: string, signal: AbortSignal): Promise<void> {
    const limit = upstreamDeadline(this.#clock, TIMEOUT_MS, 'logging/setLevel took too long', signal)
    const call = {
      method: 'logging/setLevel',
      params: { level },
      caller: OURSELVES,
      maxBytes: MAX_ANSWER_BYTES,
    }
    try {
      await this.#ask(call, limit.signal)
    } catch {
      this.#level = undefined
    } finally {
      limit.clear()
    }
  }
}

function isMoreVerbose(level: string, than: string): boolean {
  return LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(than)
}
