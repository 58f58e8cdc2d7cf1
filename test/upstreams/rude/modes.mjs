/** How each mode of the rude server differs from `polite`. NUMBER is the second argument of the command line. */
import { spawn } from 'node:child_process'

const argument = fallback => Number(process.argv[3] ?? fallback)
const tool = (name, rest = {}) => ({
  name,
  description: `Tool ${name}`,
  inputSchema: { type: 'object', properties: {} },
  ...rest,
})

/** Keeps the process running after the end of stdin, as in servers with a timer or a socket. */
const stayAlive = () => setInterval(() => {}, 60_000)

/** Lists tools in pages: `page(cursor)` returns the tools and the next cursor. */
const paged = page => server => {
  server.list = (id, params) => {
    const { tools, nextCursor } = page(params.cursor)
    server.answer(id, nextCursor === undefined ? { tools } : { tools, nextCursor })
  }
}

/** Adds resources and prompts: two resources, a template and a prompt. */
const withResources = server => {
  server.capabilities = { tools: {}, resources: { listChanged: true }, prompts: { listChanged: true } }
  server.other = (id, params, method) => {
    if (method === 'resources/list')
      return server.answer(id, {
        resources: [
          { uri: 'file:///b', name: 'b' },
          { uri: 'file:///a', name: 'a', extra: true },
        ],
      })
    if (method === 'resources/templates/list')
      return server.answer(id, { resourceTemplates: [{ uriTemplate: 'file:///{path}', name: 'files' }] })
    if (method === 'prompts/list') return server.answer(id, { prompts: [{ name: 'hello' }] })
    if (method === 'resources/read')
      return server.answer(id, { contents: [{ uri: params.uri, text: `text of ${params.uri}` }] })
    return server.fail(id, -32601, 'no such method')
  }
}

export const modes = {
  polite: () => {},

  // Start
  'hang-initialize': server => {
    server.initialize = () => stayAlive()
  },
  'slow-start': server => {
    const { initialize } = server
    server.initialize = (id, params) => setTimeout(() => initialize(id, params), argument(500))
  },
  'exit-0': () => process.exit(0),
  'exit-1': () => {
    process.stderr.write('cannot open the database: no such file\n')
    process.exit(1)
  },
  'crash-after-initialize': server => {
    const { initialize } = server
    server.initialize = (id, params) => {
      initialize(id, params)
      setTimeout(() => process.exit(3), argument(0))
    }
  },
  'refuse-initialize': server => {
    server.initialize = id => server.fail(id, -32602, 'GITHUB_TOKEN is not set')
  },
  'wrong-version': server => {
    server.initialize = id =>
      server.answer(id, {
        protocolVersion: '1999-01-01',
        capabilities: {},
        serverInfo: { name: 'rude', version: '1' },
      })
  },
  'old-version': server => {
    server.initialize = id =>
      server.answer(id, {
        protocolVersion: '2024-11-05',
        capabilities: { tools: {} },
        serverInfo: { name: 'rude', version: '1' },
      })
  },
  'only-garbage': server => {
    process.stdout.write('Usage: rude [options]\n')
    stayAlive()
    server.receive = () => process.stdout.write('Unknown command\n')
  },
  'garbage-flood': server => {
    server.receive = () => {}
    const flood = () => {
      while (process.stdout.write(`${'this is not JSON '.repeat(20)}\n`));
      process.stdout.once('drain', flood)
    }
    flood()
  },
  'late-garbage-flood': server => {
    const { initialize } = server
    server.initialize = (id, params) => {
      initialize(id, params)
      setInterval(() => process.stdout.write('this is not JSON\n'.repeat(500)), 20)
    }
  },

  // Calls
  'die-in-call': server => {
    server.call = () => process.exit(7)
  },
  destructive: server => {
    server.tools = server.tools.map(one => ({ ...one, annotations: { destructiveHint: true } }))
  },
  'hang-call': server => {
    server.call = () => {}
  },
  'huge-result': server => {
    const huge = 'x'.repeat(argument(20 * 1024 * 1024))
    server.call = id => server.answer(id, { content: [{ type: 'text', text: huge }] })
  },
  garbage: server => {
    server.writeLine = line =>
      process.stdout.write(`Listening on port 3000\n\n{"half": \n[1,2\nnull\n42\n"text"\n${line}\n`)
  },
  split: server => {
    let queue = Promise.resolve()
    const turn = () => new Promise(resolve => setImmediate(resolve))
    server.writeLine = line => {
      const bytes = Buffer.from(`${line}\r\n\r\n`)
      queue = queue.then(async () => {
        for (let at = 0; at < bytes.length; at += 7) {
          process.stdout.write(bytes.subarray(at, at + 7))
          await turn()
        }
      })
    }
  },
  'duplicate-ids': server => {
    server.writeLine = line => process.stdout.write(`${line}\n${line}\n`)
  },
  'unknown-ids': server => {
    const { answer } = server
    server.answer = (id, result) => {
      answer(987_654, { content: [] })
      answer('no-such-id', { content: [] })
      answer(null, { content: [] })
      answer(id, result)
    }
  },
  'string-ids': server => {
    const { answer } = server
    server.answer = (id, result) => answer(String(id), result)
  },
  'no-result': server => {
    server.call = id => server.send({ id })
  },
  batch: server => {
    server.writeLine = line =>
      process.stdout.write(`[{"jsonrpc":"2.0","method":"notifications/message","params":{}},${line}]\n`)
  },
  deaf: server => {
    const { initialize } = server
    server.initialize = (id, params) => {
      initialize(id, params)
      process.stdin.pause()
      stayAlive()
    }
  },
  'silent-to-set-level': server => {
    server.capabilities = { tools: {}, logging: {} }
    server.other = () => {}
  },
  'close-stdout': server => {
    server.call = () => {
      stayAlive()
      process.stdout.destroy()
      import('node:fs').then(fs => fs.closeSync(1))
    }
  },

  // Process
  'stderr-flood': () => {
    const flood = () => {
      while (process.stderr.write(`${'noise '.repeat(100)}\n`));
      process.stderr.once('drain', flood)
    }
    setImmediate(flood)
  },
  'stderr-endless-line': () => {
    const flood = () => {
      while (process.stderr.write('noise without an end '.repeat(100)));
      process.stderr.once('drain', flood)
    }
    setImmediate(flood)
  },
  /** Ignores the end of stdin, but not SIGTERM. */
  'deaf-to-end': stayAlive,
  'ignore-term': () => {
    process.on('SIGTERM', () => {})
    process.on('SIGINT', () => {})
    process.on('SIGHUP', () => {})
    stayAlive()
  },
  /** A grandchild in the same process group keeps all three pipes open and ignores SIGTERM; the server itself ends normally. */
  grandchildren: server => {
    const script = "process.on('SIGTERM', () => {}); setInterval(() => {}, 60000)"
    const grandchild = spawn(process.execPath, ['-e', script], { stdio: 'inherit' })
    const { initialize } = server
    server.initialize = (id, params) => grandchild.pid && initialize(id, params)
  },

  // Lists
  'hang-list': server => {
    server.list = () => {}
  },
  'die-in-list': server => {
    server.list = () => process.exit(7)
  },
  'huge-list': server => {
    server.list = id =>
      server.answer(id, { tools: [tool('huge', { description: 'x'.repeat(20 * 1024 * 1024) })] })
  },
  changing: server => {
    let round = 0
    server.list = id => {
      round++
      server.answer(id, { tools: [tool('always'), tool(`round_${round}`)] })
      if (round <= argument(3)) server.send({ method: 'notifications/tools/list_changed' })
    }
  },
  'many-tools': server => {
    server.tools = Array.from({ length: argument(10_000) }, (_, index) => tool(`tool_${index}`))
  },
  'many-pages': paged(cursor => {
    const page = Number(cursor ?? 0)
    return {
      tools: [tool(`page_${page}`)],
      nextCursor: page + 1 < argument(5) ? String(page + 1) : undefined,
    }
  }),
  'endless-pages': paged(cursor => {
    const page = Number(cursor ?? 0)
    return { tools: [tool(`page_${page}`)], nextCursor: String(page + 1) }
  }),
  'cursor-loop': paged(cursor => ({
    tools: [tool(cursor === undefined ? 'first' : 'again')],
    nextCursor: 'same',
  })),
  'no-type': server => {
    server.tools = [
      tool('typed'),
      tool('untyped', { inputSchema: { properties: { a: { type: 'string' } } } }),
    ]
  },
  'no-schema': server => {
    server.tools = [tool('typed'), tool('bare', { inputSchema: undefined })]
  },
  'duplicate-names': server => {
    server.tools = [
      tool('twin', { description: 'first' }),
      tool('single'),
      tool('twin', { description: 'second' }),
    ]
  },
  'bad-tools': server => {
    server.tools = [
      tool('good'),
      { description: 'no name', inputSchema: { type: 'object' } },
      tool(''),
      tool(42),
      tool('x'.repeat(300)),
      tool('schema_is_text', { inputSchema: 'object' }),
      tool('schema_is_array', { inputSchema: [] }),
      null,
      'tool',
      tool('also_good', { annotations: { readOnlyHint: true }, unknown: { kept: true } }),
    ]
  },
  'any-language': server => {
    server.tools = [tool('werkzeug_für_alles'), tool('工具'), tool('two words'), tool('a:b/c.d')]
  },
  'tools-not-a-list': server => {
    server.list = id => server.answer(id, { tools: 'none' })
  },
  resources: withResources,
  /** Declares resources and prompts, but listing them fails. */
  'failing-lists': server => {
    withResources(server)
    server.other = (id, _params, method) => {
      if (method === 'resources/list') return server.fail(id, -32603, 'the disk is on fire')
      if (method === 'prompts/list') return server.answer(id, { prompts: 'none' })
      return server.fail(id, -32601, 'no such method')
    }
  },
  'undeclared-tools': server => {
    server.capabilities = {}
  },
}
