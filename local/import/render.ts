/** Renders imported servers as a file of manifests, with a stub of each Secret. Pure. */
import { stringify } from 'yaml'
import type { ImportedConfig } from './client-config.ts'
import { hasPlainSecret, looksSecret, withoutVariables } from './secrecy.ts'
import { type Part, writeVariables } from './variables.ts'

/** YAML documents, one per server; ends with a newline. Values that look like secrets are in it only in URLs and beside variables in arguments; a comment names these servers. */
export function renderImported({ servers, secrets }: ImportedConfig): string {
  const documents = servers.map(({ input }) => stringify(input, { lineWidth: 0, version: '1.1' }))
  const stubs = Object.entries(secrets).map(([name, values]) => renderSecret(name, values))
  return `${stubs.length > 0 ? SECRETS_HELP : ''}${secretsLeft(servers)}${[...documents, ...stubs].join('---\n')}`
}

function secretsLeft(servers: ImportedConfig['servers']): string {
  const inUrl = servers.filter(({ input: { spec } }) =>
    looksSecret('', withoutVariables(spec.remote?.url ?? '')),
  )
  const inArgs = servers.filter(({ input: { spec } }) => {
    const args = (spec.npm ?? spec.pypi ?? spec.command)?.args ?? []
    return args.some((arg, index) => hasPlainSecret(arg, args[index - 1]))
  })
  return `${stillHas('URL', 'contains', inUrl)}${stillHas('arguments', 'contain', inArgs)}`
}

function stillHas(what: string, contains: string, servers: ImportedConfig['servers']): string {
  if (servers.length === 0) return ''
  const names = servers.map(({ manifest }) => manifest.metadata.name).join(', ')
  return `# The ${what} of ${names} still ${contains} what looks like a secret.\n`
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
