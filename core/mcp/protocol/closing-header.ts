/** The response header of a bridge that is shutting down and did not process the request: the sender may send it again. */
export const CLOSING_HEADER = 'portolan-closing'

/** The whole HTTP response, for a request that may be on its way when its connection is closed. */
export const CLOSING_RESPONSE = `HTTP/1.1 503 Service Unavailable\r\n${CLOSING_HEADER}: true\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`
