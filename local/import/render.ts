/** Renders imported servers as a file of manifests, with a stub of each Secret. Pure. */
import { stringify } from 'yaml'
import type { ImportedConfig } from './client-config.ts'
import { looksSecret } from './secrecy.ts'
import { type Part, writeVariables } from './variables.ts'

/** YAML documents, one per server; ends with a newline. The only values in it that look like secrets are in URLs; a comment names these. */
export function renderImported({ servers, secrets }: ImportedConfig): string {
  const documents = servers.map(({ input }) => stringify(input, { lineWidth: 0, version: '1.1' }))
  const stubs = Object.entries(secrets).map(([name, values]) => renderSecret(name, values))
  return `${stubs.length > 0 ? SECRETS_HELP : ''}${urlsHelp(servers)}${[...documents, ...stubs].join('---\n')}`
}

function urlsHelp(servers: ImportedConfig['servers']): string {
  const names = servers.flatMap(({ manifest: { metadata, spec } }) => {
    const url = spec.remote?.url ?? ''
    return looksSecret('', url) && !url.includes('${') ? [metadata.name] : []
  })
  if (names.length === 0) return ''
  return `# The URL of ${names.join(', ')} still contains what looks like a secret.\n`
}

const SECRETS_HELP = `# Values that look like secrets are not in this file. Give each as a Secret manifest (stubs below), as a file NAME/KEY
# under --secrets DIR, or in the environment as NAME_KEY.
`

/** A stub of a Secret, commented out because an empty value would count as given. */
function renderSecret(name: string, values: Record<string, Part[]>): string {
  const lines = Object.entries(values).map(([key, parts]) => `#   ${key}: ""  # ${originOf(parts)}`)
  return [
    '# apiVersion: v1',
    '# kind: Secret',
    `# metadata: { name: ${name} }`,
    '# stringData:',
    ...lines,
    '',
  ].join('\n')
}

/** Describes the origin of a value. Text around variables is shown only if it is a short word such as `Bearer `, which is not a secret. */
function originOf(parts: readonly Part[]): string {
  if (parts.every(part => part.kind === 'text')) return 'the value in the client config'
  return `was ${writeVariables(parts.map(withoutValues))}`
}

/** The part without text that may be secret, and without a default value. */
function withoutValues(part: Part): Part {
  if (part.kind === 'env') return { kind: 'env', name: part.name }
  return part.kind === 'input' || /^[A-Za-z]{1,10} $/.test(part.text) ? part : { kind: 'text', text: '…' }
}
