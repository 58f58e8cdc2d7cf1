/** Records each step of a login at the pages /connect in the audit stream, however it ends. */
import type { IncomingMessage } from 'node:http'
import { peerAddress } from '../../core/addresses.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { Audit } from '../audit/audit.ts'
import type { Who } from '../audit/line.ts'
import { type LoginStep, loginStepped } from '../audit/of-logins.ts'

export type LoginSteps = {
  /** Whether no step may be taken now, since it could not be recorded. */
  isBlocked(): boolean
  /** Takes the step by calling `work`. An error of `work` is recorded as the reason of the refusal, and thrown on. */
  take(
    step: Pick<LoginStep, 'method' | 'server'>,
    request: IncomingMessage,
    work: (known: Known) => Promise<void>,
  ): Promise<void>
}

/** Call it with the user of the browser as soon as that is known, even if the login is refused afterwards. */
export type Known = (who: Who) => void

export type LoginStepsOptions = {
  /** Absent: nothing is recorded. */
  audit?: Pick<Audit, 'decided' | 'isBlocked'>
  /** Undefined while there is no catalog yet. */
  config: () => RouterConfig | undefined
}

export function createLoginSteps({ audit, config: configOf }: LoginStepsOptions): LoginSteps {
  return {
    isBlocked() {
      const config = configOf()
      return config !== undefined && audit?.isBlocked(config.access) === true
    },
    async take(step, { socket }, work) {
      const address = peerAddress(socket)
      let who: Who | undefined
      const record = (error?: unknown) => {
        const config = configOf()
        if (config) audit?.decided(config, loginStepped({ ...step, who, address }, config, error))
      }
      try {
        await work(known => {
          who = known
        })
      } catch (error) {
        record(error)
        throw error
      }
      record()
    },
  }
}
