/** How a gateway is reached from outside the cluster: by a route of the Gateway API, or an Ingress. */
import * as z from 'zod'
import { exactlyOne, freeForm } from './core-v1.ts'

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const HOST = new RegExp(`^(\\*\\.)?${LABEL}(\\.${LABEL})*$`)
const HOST_HELP = 'must be a name of DNS in lower case, such as mcp.example.com'

const host = z.string().min(1).max(253).regex(HOST, HOST_HELP)
const objectName = z.string().min(1).max(253)

const gatewayAPI = z.strictObject({
  parentRefs: z
    .array(freeForm)
    .min(1)
    .max(32)
    .describe(
      'The Gateways that the HTTPRoute is attached to, as in an HTTPRoute: name, namespace, sectionName.',
    ),
  hostnames: z.array(host).max(16).default([]).describe('Default: those of the Gateways.'),
})

const ingress = z.strictObject({
  className: objectName.optional().describe("The ingress class. Default: the cluster's."),
  host: host.describe('The host name at which the gateway is reached.'),
  tls: z
    .strictObject({ secretName: objectName.describe('The Secret that holds the certificate.') })
    .optional()
    .describe('TLS between clients and the Ingress. Default: none.'),
  annotations: z
    .record(z.string().max(317), z.string().max(65_536))
    .optional()
    .describe('For its controller, such as the time after which it ends a stream.'),
})

export const exposure = exactlyOne(
  z.strictObject({
    gatewayAPI: gatewayAPI.optional().describe('Makes an HTTPRoute. The cluster needs the Gateway API.'),
    ingress: ingress.optional().describe('Makes an Ingress.'),
  }),
)
  .optional()
  .describe(
    "Makes the gateway reachable from outside the cluster. Its callers must then show who they are: see `spec.auth`. The routers' NetworkPolicy then admits all.",
  )
