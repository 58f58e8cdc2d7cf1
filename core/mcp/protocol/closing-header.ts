/** The response header of a bridge that is shutting down and did not process the request: the sender may send it again. */
export const CLOSING_HEADER = 'portolan-closing'
