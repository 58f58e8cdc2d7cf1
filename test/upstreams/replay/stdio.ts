/** Replays one catalog as a stdio server: `node stdio.ts CATALOG.json`, or `node stdio.ts own:NAME` for one of the project's own. */
import { basename } from 'node:path'
import { createInterface } from 'node:readline'
import { createAnswerer } from './answer.ts'
import { readOwn, readRecordedFile } from './catalogs.ts'

const source = process.argv[2] ?? ''
const catalog = source.startsWith('own:')
  ? readOwn().find(({ name }) => name === source.slice('own:'.length))
  : readRecordedFile(source, basename(source, '.json'))
if (!catalog) throw new Error(`no catalog ${source}`)

const answer = createAnswerer(catalog)
createInterface({ input: process.stdin }).on('line', line => {
  const text = line.trim() === '' ? undefined : answer(JSON.parse(line))
  if (text !== undefined) process.stdout.write(`${text}\n`)
})
