/** The clients that listen to a bridge: each change notification of a child goes to those that it concerns. */
import type { Notification } from '../protocol/json-rpc.ts'
import type { Listening } from './handler.ts'

type Listener = { listening: Listening; end: () => void }

const MAX_LISTENERS = 4_096

export class Listeners {
  readonly #listeners = new Set<Listener>()

  /** Adds a listener and resolves when it ends; at once if there are too many. */
  listen(listening: Listening): Promise<void> {
    const { signal } = listening
    if (signal.aborted || this.#listeners.size >= MAX_LISTENERS) return Promise.resolve()
    return new Promise(resolve => {
      const end = () => {
        this.#listeners.delete(listener)
        signal.removeEventListener('abort', end)
        resolve()
      }
      const listener = { listening, end }
      this.#listeners.add(listener)
      signal.addEventListener('abort', end)
    })
  }

  /** Sends a notification to the listeners whose client `concerns` accepts. It gets undefined if the client is not known. */
  tell(notification: Notification, concerns: (client: string | undefined) => boolean): void {
    for (const { listening } of this.#listeners) {
      if (concerns(listening.client)) listening.tell(notification)
    }
  }

  endAll(): void {
    for (const { end } of [...this.#listeners]) end()
  }
}
