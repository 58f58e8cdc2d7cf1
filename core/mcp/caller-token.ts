/** The bearer token with which a caller authenticated; used only for token exchange (RFC 8693). */

/** The value is in a private field, so that printing, copying or serializing a caller does not show it. */
export class CallerToken {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** Returns the token. Send it only to an authorization server. */
  reveal(): string {
    return this.#value
  }
}

const BEARER = /^bearer +([^ ]+)$/i

/** Reads the token from an accepted `Authorization` header; undefined if it has no bearer token. */
export function callerTokenOf(authorization: string | undefined): CallerToken | undefined {
  const value = authorization && BEARER.exec(authorization)?.[1]
  return value ? new CallerToken(value) : undefined
}
