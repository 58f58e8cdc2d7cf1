/** Clients with a session, as who serves them reaches them between their requests: on the streams that they keep open. */
import type { Ask, Notification } from '../upstream.ts'

export interface Clients {
  /** Sends a notification on one of the client's streams; false where it has none open. */
  notify(client: string, notification: Notification): boolean
  /** How to ask the client for something; undefined where it has no stream open, or declared that it cannot be asked for this. */
  asking(client: string, method: string): Ask | undefined
}
