/** The header that identifies the caller to a bridge: all requests of a router have the same bearer token. */
export const CALLER_HEADER = 'portolan-caller'
