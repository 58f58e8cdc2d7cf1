/** Modes of the rude server that end `subscriptions/listen` by themselves. The second argument of the command line is a WAY, see `ways`. */
import { openingModes } from './opening-modes.mjs'

const META_SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId'
const text = value => ({ content: [{ type: 'text', text: JSON.stringify(value) }] })

/** What the server does with a listen. */
const ways = server => ({
  polite: listen => acknowledge(server, listen, listen.notifications),
  /** Acknowledges and ends it in one write. */
  'at-once': listen => {
    const { writeLine } = server
    const lines = []
    server.writeLine = line => lines.push(line)
    acknowledge(server, listen, listen.notifications)
    end(server, listen)
    server.writeLine = writeLine
    writeLine(lines.join('\n'))
  },
  nothing: listen => acknowledge(server, listen, {}),
  'no-acknowledgement': listen => end(server, listen),
  busy: listen => end(server, listen, -32000),
  unknown: listen => end(server, listen, -32601),
  garbage: listen => end(server, listen, 'garbage'),
})

export const listeningModes = {
  /**
   * Supports only 2026-07-28. Tools: `way` (to) for the next listens; `end` (code, or `garbage`) all that are open; `touch` (uri) and
   * `grow` report changes to those that are open; `listens` answers with what was ever asked for: uris, and `lists`.
   */
  'ends-listens': server => {
    openingModes['slow-modern'](server)
    const capabilities = { tools: { listChanged: true }, resources: { subscribe: true } }
    server.discover = id => server.answer(id, { supportedVersions: ['2026-07-28'], capabilities })
    const listens = []
    let way = process.argv[3] ?? 'polite'
    server.other = (id, params, method) => {
      if (method !== 'subscriptions/listen') return server.fail(id, -32601, 'no such method')
      const listen = { id, notifications: params.notifications, ended: false }
      listens.push(listen)
      ways(server)[way](listen)
    }
    const isCancelled = ({ id }) => server.seen.some(({ params }) => params?.requestId === id)
    const open = () => listens.filter(listen => !listen.ended && !isCancelled(listen))
    const own = {
      way: ({ to }) => {
        way = to
      },
      end: ({ code }) => {
        for (const listen of open()) end(server, listen, code)
      },
      touch: ({ uri }) => {
        for (const listen of open())
          if (listen.notifications.resourceSubscriptions?.includes(uri))
            report(server, listen, 'notifications/resources/updated', { uri })
      },
      grow: () => {
        for (const listen of open())
          if (listen.notifications.toolsListChanged)
            report(server, listen, 'notifications/tools/list_changed', {})
      },
      listens: () => listens.map(({ notifications }) => notifications.resourceSubscriptions?.[0] ?? 'lists'),
    }
    const { call } = server
    server.call = (id, params) => {
      const run = own[params.name]
      if (!run) return call(id, params)
      server.answer(id, text(run(params.arguments ?? {}) ?? 'done'))
    }
  },
}

function acknowledge(server, listen, notifications) {
  report(server, listen, 'notifications/subscriptions/acknowledged', { notifications })
}

function report(server, { id }, method, params) {
  server.send({ method, params: { ...params, _meta: { [META_SUBSCRIPTION_ID]: id } } })
}

function end(server, listen, code) {
  listen.ended = true
  if (code === 'garbage') return server.send({ id: listen.id })
  if (code === undefined) return server.answer(listen.id, {})
  server.fail(listen.id, code, 'no more')
}
