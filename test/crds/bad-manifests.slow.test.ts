/** What the API server itself answers to broken manifests: every message names the field and says what to do. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parseManifestText } from '../../core/manifests.ts'
import { type ApiServer, skipApiServer, startApiServer } from '../support/api-server.ts'

const folder = join(import.meta.dirname, '..', 'golden', 'broken')
const golden = join(import.meta.dirname, '..', 'golden', 'refusals.txt')
const MIN_CASES = 40
const AT_A_TIME = 4
/** Left out: kubectl itself refuses these (not YAML, or no object of a known kind), or they are not of our kinds. */
const NOT_SENT = /^(yaml-|list-of-|kind-|api-version-|secret-|label-number|name-missing)/

const skip = skipApiServer()
const cases = readdirSync(folder).filter(name => name.endsWith('.yaml') && !NOT_SENT.test(name))
let server: ApiServer

before(async () => {
  if (!skip) server = await startApiServer()
})
after(() => server?.stop())

test('broken manifests are refused by the API server, each with a message to act on', { skip }, async t => {
  assert.ok(cases.length >= MIN_CASES, `${cases.length} cases`)
  const answers = await answersTo(cases)
  for (const [name, answer] of answers) {
    assert.ok(answer.refused, `${name} was accepted: ${answer.text}`)
    assert.ok(namesAField(name, answer.text), `${name} names no field: ${answer.text}`)
    assert.doesNotMatch(answer.text, /in body should match|evaluating rule/, `${name} shows an expression`)
  }
  const text = [...answers].map(([name, { text }]) => `# ${name}\n${text}`).join('\n')
  t.assert.fileSnapshot(text, golden, { serializers: [String] })
})

test('a manifest with problems that only the operator can find is accepted by the API server', {
  skip,
}, async () => {
  const spec = {
    npm: { package: 'a' },
    scaling: { min: 0 },
    tools: { pin: 'Hold' },
    pod: { nodeSelector: 'none' },
  }
  const manifest = {
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpServer',
    metadata: { name: 'later' },
    spec,
  }
  const answer = await server.kubectl(['apply', '--dry-run=server', '-f', '-'], JSON.stringify(manifest))
  assert.match(answer, /created \(server dry run\)/)
})

type Answer = { refused: boolean; text: string }

async function answersTo(names: readonly string[]): Promise<Map<string, Answer>> {
  const answers = new Map<string, Answer>()
  const queue = [...names]
  const work = async () => {
    for (let name = queue.shift(); name; name = queue.shift()) answers.set(name, await answerTo(name))
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, work))
  return new Map([...answers].sort(([a], [b]) => (a < b ? -1 : 1)))
}

async function answerTo(name: string): Promise<Answer> {
  try {
    const text = await server.kubectl(['apply', '--dry-run=server', '-f', join(folder, name)])
    return { refused: false, text }
  } catch (error) {
    const [, ...lines] = String(error).replaceAll(`${folder}/`, '').split('\n')
    return { refused: true, text: `${ordered(lines).join('\n')}\n` }
  }
}

/** The API server lists the problems of several fields in varying order. */
function ordered(lines: readonly string[]): string[] {
  const problems = lines.filter(Boolean)
  return [
    ...problems.filter(line => !line.startsWith('* ')),
    ...problems.filter(line => line.startsWith('* ')).sort(),
  ]
}

function namesAField(name: string, text: string): boolean {
  const { problems } = parseManifestText(readFileSync(join(folder, name), 'utf8'), name)
  return problems.some(({ path }) => path && text.includes(asTheServerWrites(path)))
}

/** The API server writes keys without quotes, and names the entry, not its field, if an entry is given twice. */
function asTheServerWrites(path: string): string {
  return path.replace(/\["([^"]*)"\]/g, '.$1').replace(/\]\.name$/, ']')
}
