/** Records each step of a login at the pages /connect in the audit stream, however it ends. */
import type { IncomingMessage } from 'node:http'
import { peerAddress } from '../../core/addresses.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { Audit } from '../audit/audit.ts'
import type { Who } from '../audit/line.ts'
import { type LoginStep, loginStepped } from '../audit/of-logins.ts'

export type LoginSteps = {
  /** Whether nothing is answered, since it could not be recorded. */
  isBlocked(): boolean
  /** Does the step. What throws is why it was refused. */
  take(
    step: Pick<LoginStep, 'method' | 'server'>,
    request: IncomingMessage,
    work: (known: Known) => Promise<void>,
  ): Promise<void>
}

/** To be called with the user of the browser as soon as it is known, also of a login that is refused then. */
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
