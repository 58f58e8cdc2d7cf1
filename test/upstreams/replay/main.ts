/**
 * The replay upstream as a process: `node main.ts [FOLDER]`. Its first line on stdout lists its servers:
 * `{"servers":[{"name","url","tools":[names],"tokens"}]}`.
 */
import { createTokenCounter, toolText } from '../../../core/tokens.ts'
import { readRecorded } from './catalogs.ts'
import { startReplay } from './replay.ts'

const folder = process.argv[2]
const replay = await startReplay(folder === undefined ? {} : { catalogs: readRecorded(folder) })
const counter = createTokenCounter()
const servers = await Promise.all(
  replay.catalogs.map(async ({ name, tools }) => {
    const tokens = (await counter.count(tools.map(toolText))).reduce((sum, each) => sum + each, 0)
    return { name, url: replay.url(name), tools: tools.map(tool => tool.name), tokens }
  }),
)
await counter.close()
process.stdout.write(`${JSON.stringify({ servers })}\n`)
// The parent process holds the other end of stdin, so this process ends when the parent does.
process.stdin.resume().on('end', () => process.exit())
