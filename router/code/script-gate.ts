/**
 * Limits how many scripts run at the same time, in total and for one client. A script that waits for a person does not count meanwhile, and one that was
 * called by another uses the place of its caller. As each has a thread and its memory, all of them are at most twice as many as may run.
 */
import type { CodeLimits } from '../../core/catalog/router-config.ts'

export type Place = {
  /** False: too many scripts wait for people already, in all or of this client. */
  beginAsking(): boolean
  endAsking(): void
  leave(): void
}

export type ScriptGate = {
  /** Undefined: too many run, in all or of this client. `isCalled`: by another script of the client, which asks people for it. */
  enter(
    client: string,
    limits: Pick<CodeLimits, 'scripts' | 'scriptsPerClient'>,
    isCalled?: boolean,
  ): Place | undefined
  running(): number
  asking(): number
}

type Counts = { running: number; asking: number; called: number }

export function createScriptGate(): ScriptGate {
  const all: Counts = { running: 0, asking: 0, called: 0 }
  const ofClients = new Map<string, Counts>()
  return {
    enter(client, { scripts, scriptsPerClient }, isCalled = false) {
      const own = ofClients.get(client) ?? { running: 0, asking: 0, called: 0 }
      const isFull = (state: keyof Counts) => all[state] >= scripts || own[state] >= scriptsPerClient
      const add = (state: keyof Counts, more: number) => {
        all[state] += more
        own[state] += more
      }
      const leave = (state: keyof Counts) => {
        add(state, -1)
        if (threadsOf(own) === 0) ofClients.delete(client)
      }
      if (threadsOf(all) >= 2 * scripts || threadsOf(own) >= 2 * scriptsPerClient) return undefined
      if (!isCalled && isFull('running')) return undefined
      ofClients.set(client, own)
      add(isCalled ? 'called' : 'running', 1)
      if (isCalled) return { beginAsking: () => true, endAsking() {}, leave: () => leave('called') }
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
        leave: () => leave(questions > 0 ? 'asking' : 'running'),
      }
    },
    running: () => all.running + all.called,
    asking: () => all.asking,
  }
}

function threadsOf({ running, asking, called }: Counts): number {
  return running + asking + called
}
