/** The header by which a router names callers to a bridge, which sees all of them behind the one token of their router. */
export const CALLER_HEADER = 'portolan-caller'
