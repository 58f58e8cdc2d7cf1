/** Waits for what a client of a test hears. */
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { JsonObject } from '../../core/json.ts'

type Notification = { method: string; params?: JsonObject }

/** Resolves with the first notification of this method, now or later; rejects at the end of the test. */
export async function heardOf(
  { signal }: TestContext,
  client: { heard: Notification[] },
  wanted: string,
): Promise<Notification> {
  for (;;) {
    const found = client.heard.find(({ method }) => method === wanted)
    if (found) return found
    await pause(1, undefined, { signal })
  }
}
