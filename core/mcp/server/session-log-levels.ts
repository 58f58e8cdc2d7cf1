/** The log level that each client with a session asked for (logging/setLevel, 2025 era). */

const MAX_CLIENTS = 10_000

/** What clients of the 2025 era set for their sessions; beyond 10,000 the oldest is forgotten, and gets every message again. */
export class LogLevels {
  readonly #levels = new Map<string, string>()

  set(client: string, level: string): void {
    this.#levels.delete(client)
    if (this.#levels.size >= MAX_CLIENTS) this.forget(this.#levels.keys().next().value as string)
    this.#levels.set(client, level)
  }

  get(client: string): string | undefined {
    return this.#levels.get(client)
  }

  forget(client: string): void {
    this.#levels.delete(client)
  }
}
