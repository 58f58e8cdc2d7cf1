/** Limits how many scripts run at the same time, in total and for one client. A script that waits for a person does not count meanwhile. */
import type { CodeLimits } from '../../core/catalog/router-config.ts'

/** Limit of scripts that wait for their caller's answer, in addition to those that run. */
const MAX_ASKING = 16

export type Place = {
  /** False: too many scripts wait for people already. */
  beginAsking(): boolean
  endAsking(): void
  leave(): void
}

export type ScriptGate = {
  /** Undefined: too many run, in all or of this client. */
  enter(client: string, limits: Pick<CodeLimits, 'scripts' | 'scriptsPerClient'>): Place | undefined
  running(): number
  asking(): number
}

export function createScriptGate(): ScriptGate {
  const ofClients = new Map<string, number>()
  let running = 0
  let asking = 0
  const add = (client: string, more: number) => {
    running += more
    const count = (ofClients.get(client) ?? 0) + more
    if (count > 0) ofClients.set(client, count)
    else ofClients.delete(client)
  }
  return {
    enter(client, { scripts, scriptsPerClient }) {
      if (running >= scripts || (ofClients.get(client) ?? 0) >= scriptsPerClient) return undefined
      add(client, 1)
      let questions = 0
      return {
        beginAsking() {
          if (questions === 0) {
            if (asking >= MAX_ASKING) return false
            asking++
            add(client, -1)
          }
          questions++
          return true
        },
        endAsking() {
          if (--questions > 0) return
          asking--
          add(client, 1)
        },
        leave() {
          if (questions > 0) asking--
          else add(client, -1)
        },
      }
    },
    running: () => running,
    asking: () => asking,
  }
}
