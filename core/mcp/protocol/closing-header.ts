/** The header by which a bridge that is about to end says that it did not take a request: whoever sent it may send it again. */
export const CLOSING_HEADER = 'portolan-closing'
