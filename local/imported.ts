/** Reads a client config: converts its servers to manifests, and keeps the values that these refer to in memory. */
import { readFileSync, statSync } from 'node:fs'
import { parseEnv } from 'node:util'
import type { Problem } from '../core/errors.ts'
import { MAX_FILE_BYTES } from '../core/manifests.ts'
import { ownValue } from '../core/own-value.ts'
import { type ImportedConfig, importConfig, withDefaults } from './import/client-config.ts'
import { fillVariables, type Lookup, variableOfInput } from './import/variables.ts'

export type ImportedValues = Pick<ImportedConfig, 'secrets' | 'inputs'>

type Env = Readonly<Record<string, string>>

/**
 * Converts the text of a client config. `env`: values for variables in commands and URLs. `broken`: see `ManifestFile`. `envFiles` of the
 * result: the text of each file that an `envFile` names; undefined if it could not be read.
 */
export function readClientConfig(text: string, file: string, env: Env) {
  const envFiles = new Map<string, string | undefined>()
  const readEnv = (file: string) => {
    envFiles.set(file, undefined)
    const text = envFileText(file)
    envFiles.set(file, text)
    return parseEnv(text)
  }
  const config = importConfig(text, { file, home: env.HOME, lookup: lookupIn(env), readEnvFile: readEnv })
  const { servers, secrets, inputs, folder, problems, notes, broken } = config
  const manifests = servers.map(({ manifest, line, column, placeOf }) => {
    return { manifest, file, line, column, placeOf, folder }
  })
  return {
    manifests,
    problems,
    notes,
    broken: broken?.map(name => ({ kind: 'McpServer', name, line: 1 })) ?? [{ line: 1 }],
    imported: { secrets, inputs },
    envFiles,
  }
}

/** Whether one of the files has another text now. */
export function envFilesChanged(envFiles: ReadonlyMap<string, string | undefined> = new Map()): boolean {
  return [...envFiles].some(([file, text]) => {
    try {
      return envFileText(file) !== text
    } catch {
      return text !== undefined
    }
  })
}

/** Reads a dotenv file; throws if it cannot be read. */
export function readEnvFile(file: string): Readonly<Record<string, string | undefined>> {
  return parseEnv(envFileText(file))
}

function envFileText(file: string): string {
  if (statSync(file).size > MAX_FILE_BYTES) throw new Error('it is too large')
  return readFileSync(file, 'utf8')
}

/** The value of a Secret's key from client configs, or a problem that names the missing variable. Undefined if no config has the key. */
export function importedValue(
  all: readonly ImportedValues[],
  { name, key }: { name: string; key: string },
  env: Env,
): { value: string } | { problem: Problem } | undefined {
  for (const { secrets, inputs } of all) {
    const parts = ownValue(ownValue(secrets, name), key)
    if (!parts) continue
    const filled = fillVariables(parts, withDefaults(lookupIn(env), inputs))
    if ('text' in filled) return { value: filled.text }
    const { missing } = filled
    const variable =
      missing.kind === 'env' ? missing.name : missing.kind === 'input' ? variableOfInput(missing.id) : ''
    const message = `"${key}" needs a value: set the environment variable ${variable}`
    return { problem: { reason: 'SecretNotFound', message } }
  }
  return undefined
}

function lookupIn(env: Env): Lookup {
  return part => (part.kind === 'env' ? ownValue(env, part.name) : env[variableOfInput(part.id)])
}
