/** Broken manifests and client configs, each with the message that its author gets: `broken/<name>` and `<name>.expected`. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Problem } from '../../core/errors.ts'
import { parseManifestText } from '../../core/manifests.ts'
import { importConfig, isClientConfig } from '../../local/import/client-config.ts'
import { readEnvFile } from '../../local/imported.ts'

const folder = join(import.meta.dirname, 'broken')
const cases = readdirSync(folder).filter(name => !name.endsWith('.expected'))

test('there are at least fifty cases', () => assert.ok(cases.length >= 50))

for (const name of cases) {
  test(`${name} is answered with its golden message`, t => {
    const text = readFileSync(join(folder, name), 'utf8')
    const expected = join(folder, `${name}.expected`)
    t.assert.fileSnapshot(`${messagesOf(text, name).join('\n')}\n`, expected, { serializers: [String] })
  })
}

function messagesOf(text: string, file: string): string[] {
  if (!name(file) && !isClientConfig(text)) {
    const { problems } = parseManifestText(text, file)
    assert.notEqual(problems.length, 0)
    return problems.map(line)
  }
  const { problems, notes } = importConfig(text, { file, lookup: () => undefined, readEnvFile })
  assert.notEqual(problems.length + notes.length, 0)
  return [...problems.map(line), ...notes.map(note => `note: ${line(note)}`)]
}

function name(file: string): boolean {
  return file.startsWith('config-')
}

function line({ file, line, column, path, message, reason }: Problem): string {
  return `${file}:${line}:${column}: ${path ? `${path} ` : ''}${message} [${reason}]`
}
