/** The token that a caller was admitted by, for the exchange of tokens alone. */

/** Hidden: whatever prints, copies or serializes a caller does not show it. */
export class CallerToken {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** For an authorization server, and nowhere else. */
  reveal(): string {
    return this.#value
  }
}

const BEARER = /^bearer +([^ ]+)$/i

/** Of an `Authorization` header that was accepted; undefined if it has no bearer token. */
export function callerTokenOf(authorization: string | undefined): CallerToken | undefined {
  const value = authorization && BEARER.exec(authorization)?.[1]
  return value ? new CallerToken(value) : undefined
}
