/**
 * Limits how many scripts run at the same time, in total and for one client. A script that waits for a person does not count meanwhile; as many as may
 * run may wait in addition, since each keeps its thread and its memory.
 */
import type { CodeLimits } from '../../core/catalog/router-config.ts'

export type Place = {
  /** False: too many scripts wait for people already, in all or of this client. */
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

type Counts = { running: number; asking: number }

export function createScriptGate(): ScriptGate {
  const all: Counts = { running: 0, asking: 0 }
  const ofClients = new Map<string, Counts>()
  return {
    enter(client, { scripts, scriptsPerClient }) {
      const own = ofClients.get(client) ?? { running: 0, asking: 0 }
      const isFull = (state: keyof Counts) => all[state] >= scripts || own[state] >= scriptsPerClient
      const add = (state: keyof Counts, more: number) => {
        all[state] += more
        own[state] += more
      }
      if (isFull('running')) return undefined
      ofClients.set(client, own)
      add('running', 1)
      let questions = 0
      return {
        beginAsking() {
          if (questions === 0) {
            if (isFull('asking')) return false
            add('running', -1)
            add('asking', 1)
          }
          questions++
          return true
        },
        endAsking() {
          if (--questions > 0) return
          add('asking', -1)
          add('running', 1)
        },
        leave() {
          add(questions > 0 ? 'asking' : 'running', -1)
          if (own.running + own.asking === 0) ofClients.delete(client)
        },
      }
    },
    running: () => all.running,
    asking: () => all.asking,
  }
}
