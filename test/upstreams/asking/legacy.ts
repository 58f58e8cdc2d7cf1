/** A stdio server of SDK 1.x that sends questions to its client during calls, as servers of the 2025 era do. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import {
  CallToolRequestSchema,
  ListResourcesRequestSchema,
  ListRootsResultSchema,
  ListToolsRequestSchema,
  ResultSchema,
  RootsListChangedNotificationSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { type Kind, NOTE_URI, QUESTIONS } from './questions.ts'

const NAMES = ['ask', 'declared', 'log', 'progress', 'touch', 'grow', 'hang', 'die', 'pid']

const server = new Server(
  { name: 'asking', version: '1.0.0' },
  {
    capabilities: {
      tools: { listChanged: true },
      resources: { subscribe: true },
      logging: {},
    },
  },
)
const subscribed = new Set<string>()
const say = (value: unknown) => ({
  content: [{ type: 'text' as const, text: typeof value === 'string' ? value : JSON.stringify(value) }],
})

/** Like some servers, offers one tool only to clients with the capability `elicitation`. */
const namesFor = () => (server.getClientCapabilities()?.elicitation ? [...NAMES, 'hidden'] : NAMES)
let startRoots: unknown = 'never asked'

server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: namesFor().map(name => ({ name, inputSchema: { type: 'object' as const } })),
}))
// Like many servers, asks for the client's roots before its first call.
if (process.argv.includes('roots-first'))
  server.oninitialized = async () => {
    if (!server.getClientCapabilities()?.roots) return
    startRoots = await server.listRoots().catch(error => ({ failed: error.message }))
  }
server.setRequestHandler(ListResourcesRequestSchema, () => ({
  resources: [{ uri: NOTE_URI, name: 'one' }],
}))
server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
  subscribed.add(params.uri)
  return {}
})
server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
  subscribed.delete(params.uri)
  return {}
})
server.setNotificationHandler(RootsListChangedNotificationSchema, async () => {
  const { roots } = await server.request({ method: 'roots/list' }, ListRootsResultSchema)
  await server.sendLoggingMessage({ level: 'emergency', data: roots.length })
})
server.setRequestHandler(
  CallToolRequestSchema,
  async ({ params }, { sendRequest, sendNotification, signal }) => {
    const args = params.arguments ?? {}
    switch (params.name) {
      case 'ask': {
        const kinds = String(args.kinds).split(' ') as Kind[]
        const options = { timeout: 60_000, signal }
        const asked = kinds.map(kind => sendRequest({ ...QUESTIONS[kind] } as never, ResultSchema, options))
        const answers = await Promise.all(
          asked.map(one => one.catch(error => ({ failed: String(error.message) }))),
        )
        return say(Object.fromEntries(kinds.map((kind, at) => [kind, answers[at]])))
      }
      case 'declared':
        return say(server.getClientCapabilities() ?? {})
      case 'log':
        await server.sendLoggingMessage({ level: 'debug', data: 'small' })
        await server.sendLoggingMessage({ level: 'error', data: 'large' })
        return say('logged')
      case 'progress': {
        const progressToken = params._meta?.progressToken
        if (progressToken !== undefined)
          await sendNotification({ method: 'notifications/progress', params: { progressToken, progress: 1 } })
        return say('done')
      }
      case 'touch':
        for (const uri of subscribed) await server.sendResourceUpdated({ uri })
        return say([...subscribed])
      case 'grow':
        await server.sendToolListChanged()
        return say('grown')
      case 'start-roots':
        return say(startRoots)
      case 'hidden':
        if (namesFor().includes('hidden')) return say('here')
        return { ...say('Tool hidden not found'), isError: true }
      case 'hang':
        return new Promise(() => {})
      case 'die':
        return process.exit(7)
      default:
        return say(process.pid)
    }
  },
)

await server.connect(new StdioServerTransport())
