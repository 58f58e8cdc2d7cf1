/** Names of HTTP headers that manifests may set. */
import * as z from 'zod'

/** Headers that the protocol itself sets. */
const PROTOCOL_HEADERS = [
  'accept',
  'connection',
  'content-length',
  'content-type',
  'host',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'transfer-encoding',
]

export const headerName = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, {
    error: 'must be an HTTP header name, such as "Authorization"',
    abort: true,
  })
  .refine(name => !PROTOCOL_HEADERS.includes(name.toLowerCase()), {
    error: 'is set by the protocol itself: remove this header',
  })
  .meta({
    'x-kubernetes-validations': [
      {
        rule: `!(self.lowerAscii() in [${PROTOCOL_HEADERS.map(name => `'${name}'`).join(', ')}])`,
        message: 'is set by the protocol itself: remove this header',
      },
    ],
  })
