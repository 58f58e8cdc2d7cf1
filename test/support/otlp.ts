/** A trace collector for tests: an HTTP server that parses binary OTLP and stores the spans. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export type ReceivedSpan = {
  name: string
  kind: 'internal' | 'server' | 'client'
  traceId: string
  spanId: string
  /** Empty for the root span of a trace. */
  parentSpanId: string
  traceState: string
  attributes: Record<string, string | number>
  error: boolean
  /** Attributes of the resource that sent it. */
  resource: Record<string, string | number>
}

export type Collector = {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  endpoint: string
  spans: ReceivedSpan[]
  /** The received bodies, for checks of what they must not contain. */
  bodies: Buffer[]
  /** The paths of the requests. */
  paths: string[]
  /** The Authorization headers of the requests. */
  authorization: string[]
  /** From now on, stores nothing and answers with this status or, if there is none, only at `close`. Resolves at the first such request. */
  refuse(status?: number): Promise<void>
  close(): Promise<void>
}

export async function startCollector(port = 0): Promise<Collector> {
  const spans: ReceivedSpan[] = []
  const bodies: Buffer[] = []
  const paths: string[] = []
  const authorization: string[] = []
  const waiting: ServerResponse[] = []
  const refused = Promise.withResolvers<void>()
  let accepts = true
  let refusal: number | undefined
  const read = async (request: IncomingMessage) => {
    const body = await buffer(request)
    paths.push(request.url ?? '')
    authorization.push(request.headers.authorization ?? '')
    bodies.push(body)
    spans.push(...spansOf(body))
  }
  const server = createServer((request, response) => {
    if (!accepts) {
      if (refusal === undefined) waiting.push(response)
      else response.writeHead(refusal).end()
      return refused.resolve()
    }
    read(request).then(
      () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end(),
      () => response.writeHead(400).end(),
    )
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    bodies,
    paths,
    authorization,
    refuse(status) {
      accepts = false
      refusal = status
      return refused.promise
    },
    async close() {
      await Promise.all(waiting.map(response => new Promise<void>(sent => response.writeHead(403).end(sent))))
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const KINDS: Record<number, ReceivedSpan['kind']> = { 1: 'internal', 2: 'server', 3: 'client' }
const ERROR = 2

function spansOf(body: Buffer): ReceivedSpan[] {
  return messages(body, 1).flatMap(ofResource => {
    const resource = messages(ofResource, 1).flatMap(it => messages(it, 1))
    return messages(ofResource, 2)
      .flatMap(ofScope => messages(ofScope, 2))
      .map(span => ({ ...spanOf(span), resource: attributesOf(resource) }))
  })
}

function spanOf(span: Buffer): Omit<ReceivedSpan, 'resource'> {
  const hex = (field: number) => messages(span, field)[0]?.toString('hex') ?? ''
  const text = (field: number) => messages(span, field)[0]?.toString() ?? ''
  const status = messages(span, 15)[0]
  return {
    name: text(5),
    kind: KINDS[numberOf(span, 6)] as ReceivedSpan['kind'],
    traceId: hex(1),
    spanId: hex(2),
    parentSpanId: hex(4),
    traceState: text(3),
    attributes: attributesOf(messages(span, 9)),
    error: status !== undefined && numberOf(status, 3) === ERROR,
  }
}

function attributesOf(pairs: Buffer[]): Record<string, string | number> {
  return Object.fromEntries(
    pairs.map(pair => {
      const value = messages(pair, 2)[0] as Buffer
      const text = messages(value, 1)[0]
      return [String(messages(pair, 1)[0]), text === undefined ? numberOf(value, 3) : text.toString()]
    }),
  )
}

function messages(from: Buffer, field: number): Buffer[] {
  return fieldsOf(from).flatMap(([number, value]) =>
    number === field && typeof value !== 'number' ? [value] : [],
  )
}

function numberOf(from: Buffer, field: number): number {
  const found = fieldsOf(from).find(([number]) => number === field)?.[1]
  return typeof found === 'number' ? found : 0
}

/** Parses the Protocol Buffers wire format: field numbers with varints or bytes. Fixed 64-bit and 32-bit values are skipped. */
function fieldsOf(from: Buffer): [number, number | Buffer][] {
  const fields: [number, number | Buffer][] = []
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = from.readUInt8(at++)
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
  }
  while (at < from.length) {
    const tag = varint()
    const wire = tag & 7
    if (wire === 0) fields.push([tag >> 3, varint()])
    else if (wire === 2) {
      const length = varint()
      fields.push([tag >> 3, from.subarray(at, at + length)])
      at += length
    } else at += wire === 1 ? 8 : 4
  }
  return fields
}
