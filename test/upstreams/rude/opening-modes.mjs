/** Modes of the rude server that differ when a client first tries the 2026-07-28 protocol (`server/discover`). NUMBER: see modes.mjs. */
const argument = fallback => Number(process.argv[3] ?? fallback)

export const openingModes = {
  'die-on-discover': server => {
    server.discover = () => process.exit(4)
  },
  'hang-on-discover': server => {
    server.discover = () => {}
  },
  'discover-without-id': server => {
    server.discover = () => server.fail(null, -32600, 'Invalid request')
  },
  'discover-garbage': server => {
    server.discover = id => server.send({ id })
  },
  /** Answers `server/discover` only after the `initialize` that the client sent later. */
  'discover-last': server => {
    const { initialize } = server
    server.discover = id => {
      server.initialize = (other, params) => {
        initialize(other, params)
        server.fail(id, -32601, 'no such method')
      }
    }
  },
  /** Supports only 2026-07-28, and acknowledges `subscriptions/listen` without what was asked for. */
  'modern-listens': server => {
    openingModes['slow-modern'](server)
    server.other = (id, _params, method) => {
      if (method !== 'subscriptions/listen') return server.fail(id, -32601, 'no such method')
      const _meta = { 'io.modelcontextprotocol/subscriptionId': id }
      const params = { _meta, notifications: {} }
      server.send({ method: 'notifications/subscriptions/acknowledged', params })
    }
  },
  /** Supports only 2026-07-28, and answers after NUMBER milliseconds. */
  'slow-modern': server => {
    server.initialize = id => server.fail(id, -32022, 'this server is of 2026')
    server.discover = id =>
      setTimeout(() => {
        const _meta = { 'io.modelcontextprotocol/serverInfo': { name: 'rude', version: '2' } }
        server.answer(id, { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, _meta })
      }, argument(0))
  },
}
