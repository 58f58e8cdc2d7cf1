/** The tools of the rude server, one for each situation that tests of calls need. */
const text = value => ({ content: [{ type: 'text', text: String(value) }] })
const objectSchema = properties => ({ type: 'object', properties })

export const tools = new Map()
/** Tools that tests call but tools/list omits, so that searches do not find them. */
export const unlisted = new Map()

function add(name, description, properties, run) {
  tools.set(name, { definition: { name, description, inputSchema: objectSchema(properties) }, run })
}

const number = { type: 'number' }
const string = { type: 'string' }

add('echo', 'Answers with the text it was given', { text: string }, (server, id, args) =>
  server.answer(id, text(args.text)),
)
add('pid', 'The process id of this server', {}, (server, id) => server.answer(id, text(process.pid)))
add('arguments', 'The params of this call as they came', {}, (server, id, _args, params) =>
  server.answer(id, text(JSON.stringify(params))),
)
add('environment', 'The names and values of the environment as JSON', {}, (server, id) =>
  server.answer(id, text(JSON.stringify(process.env))),
)
add('sleep', 'Answers after some milliseconds', { ms: number }, (server, id, args) => {
  setTimeout(() => server.answer(id, text('slept')), args.ms)
})
add('hang', 'Never answers', {}, () => {})
add('die', 'Ends the process instead of answering', { code: number, last: string }, (_server, _id, args) => {
  if (args.last) process.stderr.write(`${args.last}\n`)
  process.exitCode = args.code ?? 7
  process.stdout.write('', () => process.exit())
})
add('big', 'Answers with this many bytes', { bytes: number }, (server, id, args) =>
  server.answer(id, text('x'.repeat(args.bytes))),
)
add('big_id_first', 'The same, with the id in front', { bytes: number }, (server, id, args) =>
  server.writeLine(`{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(text('x'.repeat(args.bytes)))}}`),
)
add('big_id_last', 'The same, with the id at the end', { bytes: number }, (server, id, args) =>
  server.writeLine(`{"result":${JSON.stringify(text('x'.repeat(args.bytes)))},"jsonrpc":"2.0","id":${id}}`),
)
add('progress', 'Reports progress, then answers', { steps: number }, (server, id, args, params) => {
  const token = params._meta?.progressToken
  for (let progress = 1; progress <= (args.steps ?? 3); progress++) {
    if (token !== undefined)
      server.send({
        method: 'notifications/progress',
        params: { progressToken: token, progress, total: args.steps ?? 3 },
      })
  }
  server.answer(id, text('done'))
})
add('seen', 'Notifications and answers that the client has sent, as JSON', {}, (server, id) =>
  server.answer(id, text(JSON.stringify(server.seen))),
)
add(
  'ask',
  'Sends the client a request of this method; its answer shows in `seen`',
  { method: string },
  (server, id, args) => {
    server.send({ id: `ask-${args.method}`, method: args.method, params: {} })
    server.answer(id, text('asked'))
  },
)
add(
  'say_later',
  'Sends the client this notification, or with an id this request, when the call is over',
  { method: string, id: string },
  (server, id, args) => {
    server.answer(id, text('later'))
    setTimeout(
      () => server.send({ ...(args.id ? { id: args.id } : {}), method: args.method, params: {} }),
      20,
    )
  },
)
add('change', 'Adds a tool to the list and says so', { name: string }, (server, id, args) => {
  server.tools.push({ name: args.name, description: 'New', inputSchema: objectSchema({}) })
  server.send({ method: 'notifications/tools/list_changed' })
  server.answer(id, text('changed'))
})
add('error', 'Answers with a JSON-RPC error', {}, (server, id) => server.fail(id, -32000, 'it went wrong'))

unlisted.set('line', (server, id) => server.answer(id, text(server.line)))
unlisted.set('openings', (server, id) => server.answer(id, text(JSON.stringify(server.openings))))
unlisted.set('ask_many', (server, id, args) => {
  for (let at = 0; at < args.times; at++) server.send({ id: `q${at}`, method: 'roots/list' })
  server.answer(id, text('asked'))
})
unlisted.set('withdraw', (server, id) => {
  server.send({ id: 'withdrawn', method: 'roots/list' })
  server.send({ method: 'notifications/cancelled', params: { requestId: 'withdrawn' } })
  server.answer(id, text('withdrawn'))
})
/** Sends a large request with the same id as the call, at the start or end of the line. It must not be taken for the call's answer. */
unlisted.set('ask_large', (server, id, args) => {
  const params = { padding: 'x'.repeat(args.bytes) }
  if (args.idFirst) server.send({ id, method: 'roots/list', params })
  else server.send({ method: 'roots/list', params, id })
  server.answer(id, text('asked'))
})
/** From the next long message on, reads no more, and asks a question that is too long. */
unlisted.set('ask_unread', (server, id, args) => {
  process.stdin.on('data', chunk => {
    if (chunk.length < 1_000) return
    process.stdin.pause()
    setInterval(() => {}, 60_000)
    server.send({ id, method: 'roots/list', params: { padding: 'x'.repeat(args.bytes) } })
  })
  server.answer(id, text('ready'))
})
/** Sends a ping, a notification and a question, each with a value that is nested this deeply. */
unlisted.set('deep', (server, id, args) => {
  const value = '['.repeat(args.levels) + ']'.repeat(args.levels)
  for (const rest of [
    `"id":${value},"method":"ping"`,
    `"method":"notifications/message","params":{"data":${value}}`,
    `"id":${id},"method":"roots/list","params":{"a":${value}}`,
  ])
    server.writeLine(`{"jsonrpc":"2.0",${rest}}`)
  server.send({ method: 'notifications/message', params: { data: 'flat' } })
  server.answer(id, text('sent'))
})
/** Answers with this many empty lists; before that, asks a question with as many. */
unlisted.set('many_values', (server, id, { values }) => {
  const list = `[${'[],'.repeat(values)}1]`
  server.writeLine(`{"jsonrpc":"2.0","id":77,"method":"roots/list","params":{"list":${list}}}`)
  server.writeLine(`{"jsonrpc":"2.0","id":${id},"result":{"list":${list}}}`)
})
/** Logs the call on standard output. */
unlisted.set('log_call', (server, id) => {
  server.writeLine(`DEBUG got {"method":"tools/call","params":{},"jsonrpc":"2.0","id":${id}}`)
  server.answer(id, text('logged'))
})
/** Keeps what belongs to this call, for `tell_kept`. */
unlisted.set('keep', (server, id, args, params) => {
  server.kept = { id, progressToken: params._meta?.progressToken, text: args.text }
  if (args.answer) server.answer(id, text('kept'))
})
unlisted.set('has_kept', (server, id) => server.answer(id, text(server.kept ? 'something' : 'nothing')))
/** During this call, sends everything that belongs to the call of `keep`: notifications, a question and the answer. */
unlisted.set('tell_kept', (server, id) => {
  const { id: kept, progressToken, text: data } = server.kept
  server.send({ method: 'notifications/message', params: { level: 'error', data } })
  server.send({
    method: 'notifications/progress',
    params: { progressToken: progressToken ?? null, progress: 1, message: data },
  })
  server.send({ method: 'notifications/custom', params: { data } })
  server.send({ id: 'late', method: 'elicitation/create', params: { message: data, requestedSchema: {} } })
  server.answer(kept, text(data))
  server.answer(id, text('told'))
})
