/** `npm run generate`: writes the files generated from crds/, scripts/dashboards/ and the meta-tools; with `--check`, lists outdated ones. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stringify } from 'yaml'
import { API_GROUP } from '../crds/object-meta.ts'
import { customResourceDefinition, kindDefinitions } from './crd.ts'
import { dashboardFiles } from './dashboards/dashboards.ts'
import { definitionTokensJson } from './definition-tokens.ts'
import { referencePage } from './reference.ts'

const HEADER = '# Generated from crds/*.ts by `npm run generate`: do not edit.\n'

/** Paths relative to the project's root, with their contents. */
export function generatedFiles(): Map<string, string> {
  const kinds = kindDefinitions()
  const crds = kinds.flatMap(kind => {
    const yaml = stringify(customResourceDefinition(kind), {
      lineWidth: 120,
      version: '1.1',
      aliasDuplicateObjects: false,
    })
    const file = `crds/${API_GROUP}_${kind.plural}.yaml`
    return [file, `charts/portolan/${file}`].map(path => [path, HEADER + yaml] as const)
  })
  return new Map([
    ...crds,
    ['docs/reference.md', referencePage(kinds)],
    ['router/meta/profiles/definition-tokens.json', definitionTokensJson()],
    ...dashboardFiles(),
  ])
}

function main(): number {
  const root = dirname(import.meta.dirname)
  const check = process.argv.includes('--check')
  const outdated = [...generatedFiles()].filter(([path, content]) => read(join(root, path)) !== content)
  for (const [path, content] of outdated) {
    process.stdout.write(`${path} ${check ? 'is outdated: run npm run generate' : 'written'}\n`)
    if (check) continue
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  return check && outdated.length > 0 ? 1 : 0
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

if (import.meta.main) process.exitCode = main()
