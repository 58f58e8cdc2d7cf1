/** How much of a query is read; the rest is ignored. Pure. */

export const MAX_QUERY_CHARACTERS = 1_000
export const MAX_QUERY_WORDS = 120
