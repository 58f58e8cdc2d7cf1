/** Resolves the values that manifests refer to: from Secrets and ConfigMaps among the paths, the secrets folder, and the environment. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Problem } from '../core/errors.ts'
import { ownValue } from '../core/own-value.ts'
import { REASON } from '../crds/conditions.ts'
import type { ConfigMap } from '../crds/config-map.ts'
import type { EnvFrom, EnvVar } from '../crds/core-v1.ts'
import type { Secret } from '../crds/secret.ts'
import { type ImportedValues, importedValue } from './imported.ts'

const MAX_SECRET_BYTES = 1024 * 1024
/** Excludes names and keys that would lead out of the secrets folder. */
const SAFE_NAME = /^(?!\.{1,2}$)[A-Za-z0-9._-]+$/

export type ValuePlaces = {
  secrets: readonly Secret[]
  configMaps: readonly ConfigMap[]
  /** Values from client configs. */
  imported: readonly ImportedValues[]
  /** `--secrets DIR`: files `DIR/<name>/<key>`. */
  secretsFolder?: string
  /** The user's environment: `NAME_KEY`, in upper case with `-` and `.` as `_`. */
  env: Readonly<Record<string, string>>
}

type KeyRef = { name: string; key: string; optional?: boolean }
type Entry = Pick<EnvVar, 'name' | 'value'> & {
  valueFrom?: { secretKeyRef?: KeyRef; configMapKeyRef?: KeyRef }
}

type Found = { value: string } | { problem: Problem }

/** Resolved values by name; `secret` lists the values that must not be logged. Problems never contain a value. */
export type Values = { values: Record<string, string>; secret: string[]; problems: Problem[] }

export class ValueResolver {
  readonly #places: ValuePlaces
  readonly #namespace: string

  constructor(places: ValuePlaces, namespace: string) {
    this.#places = places
    this.#namespace = namespace
  }

  /** `env` overrides `envFrom`, as in a container; `$(NAME)` in a value refers to earlier variables. */
  async env(env: readonly EnvVar[], envFrom: readonly EnvFrom[]): Promise<Values> {
    const all: Values = { values: {}, secret: [], problems: [] }
    for (const [at, from] of envFrom.entries()) {
      const keys = this.#allOf(from)
      if (keys)
        for (const [key, value] of Object.entries(keys)) all.values[`${from.prefix ?? ''}${key}`] = value
      if (keys && from.secretRef) all.secret.push(...Object.values(keys))
      if (!keys && !(from.secretRef ?? from.configMapRef)?.optional)
        all.problems.push(envFromNotFound(from, at))
    }
    await this.#resolve(env, 'spec.env', all)
    return all
  }

  /** Like `env`, for `spec.headers`. */
  async headers(headers: readonly Entry[]): Promise<Values> {
    const all: Values = { values: {}, secret: [], problems: [] }
    await this.#resolve(headers, 'spec.headers', all)
    return all
  }

  /** Looks up a key of a Secret in the manifests, then the folder, then the environment. */
  async secret(ref: KeyRef): Promise<Found> {
    const manifest = this.#find(this.#places.secrets, ref.name)
    const imported = importedValue(this.#places.imported, ref, this.#places.env)
    const fromManifest = manifest
      ? ownValue(secretValues(manifest), ref.key)
      : imported && 'value' in imported
        ? imported.value
        : undefined
    const value = fromManifest ?? (await this.#fromFolder(ref)) ?? this.#places.env[variableOf(ref)]
    if (value !== undefined) return { value }
    return { problem: imported && 'problem' in imported ? imported.problem : secretNotFound(ref) }
  }

  /** All values of a Secret by key, from its manifest or else from its folder. Undefined if there is neither. */
  async wholeSecret(name: string): Promise<Record<string, string> | undefined> {
    const manifest = this.#find(this.#places.secrets, name)
    if (manifest) return secretValues(manifest)
    const { secretsFolder } = this.#places
    if (secretsFolder === undefined || !SAFE_NAME.test(name)) return undefined
    const keys = await readdir(join(secretsFolder, name)).catch(() => undefined)
    if (!keys) return undefined
    const found = await Promise.all(
      keys.map(async key => [key, await this.#fromFolder({ name, key })] as const),
    )
    return Object.fromEntries(found.flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])))
  }

  /** Adds the values and problems of entries to `into`. `path`: the field of the entries. */
  async #resolve(entries: readonly Entry[], path: string, into: Values): Promise<void> {
    for (const [at, { name, value, valueFrom }] of entries.entries()) {
      const found = valueFrom ? await this.#valueFrom(valueFrom) : { value: expand(value ?? '', into.values) }
      if ('value' in found) into.values[name] = found.value
      if ('value' in found && valueFrom?.secretKeyRef) into.secret.push(found.value)
      const { optional } = valueFrom?.secretKeyRef ?? valueFrom?.configMapKeyRef ?? {}
      if ('problem' in found && !optional)
        into.problems.push({ ...found.problem, path: `${path}[${at}].valueFrom` })
    }
  }

  async #valueFrom({ secretKeyRef, configMapKeyRef }: NonNullable<Entry['valueFrom']>): Promise<Found> {
    if (secretKeyRef) return this.secret(secretKeyRef)
    if (!configMapKeyRef) return { problem: { reason: REASON.clusterOnly, message: 'is for clusters only' } }
    const { name, key } = configMapKeyRef
    const value = ownValue(this.#find(this.#places.configMaps, name)?.data, key)
    if (value !== undefined) return { value }
    const message = `no ConfigMap "${name}" with the key "${key}" is among the paths: add its manifest`
    return { problem: { reason: REASON.configMapNotFound, message } }
  }

  /** All values of the Secret or ConfigMap that `envFrom` names; undefined if its manifest is missing. */
  #allOf(from: EnvFrom): Record<string, string> | undefined {
    if (from.configMapRef) {
      const found = this.#find(this.#places.configMaps, from.configMapRef.name)
      return found && (found.data ?? {})
    }
    const secret = from.secretRef && this.#find(this.#places.secrets, from.secretRef.name)
    return secret && secretValues(secret)
  }

  #find<Kind extends Secret | ConfigMap>(all: readonly Kind[], name: string): Kind | undefined {
    return all.find(
      ({ metadata }) => metadata.name === name && (metadata.namespace ?? 'default') === this.#namespace,
    )
  }

  async #fromFolder({ name, key }: KeyRef): Promise<string | undefined> {
    const { secretsFolder } = this.#places
    if (secretsFolder === undefined || !SAFE_NAME.test(name) || !SAFE_NAME.test(key)) return undefined
    const bytes = await readFile(join(secretsFolder, name, key)).catch(() => undefined)
    // Editors add a newline at the end of a file; it is not part of the secret.
    return bytes
      ?.subarray(0, MAX_SECRET_BYTES)
      .toString('utf8')
      .replace(/\r?\n$/, '')
  }
}

/** The environment variable for a Secret's key: `GITHUB_TOKEN` for `github` and `token`. */
export function variableOf({ name, key }: KeyRef): string {
  return `${name}_${key}`.toUpperCase().replace(/[^A-Z0-9]/g, '_')
}

/** Replaces `$(NAME)` by its value if known; `$$` is an escaped `$`, as in Kubernetes. Pure. */
export function expand(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\$\$|\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)/g, (whole, name: string | undefined) =>
    name === undefined ? '$' : (ownValue(values, name) ?? whole),
  )
}

/** The values of a Secret's manifest, by key. */
export function secretValues(secret: Secret): Record<string, string> {
  const data = Object.entries(secret.data ?? {}).map(([key, text]) => [
    key,
    Buffer.from(text, 'base64').toString('utf8'),
  ])
  return { ...Object.fromEntries(data), ...secret.stringData }
}

/** The message names the three places where a Secret's key is looked up. */
function secretNotFound(ref: KeyRef): Problem {
  return {
    reason: REASON.secretNotFound,
    message:
      `the key "${ref.key}" of the Secret "${ref.name}" was not found: add a Secret manifest to the paths, ` +
      `or the file ${ref.name}/${ref.key} to the folder given by --secrets, or set the environment variable ${variableOf(ref)}`,
  }
}

/** The problem of the entry `at` of `envFrom`, whose Secret or ConfigMap is missing. */
function envFromNotFound(from: EnvFrom, at: number): Problem {
  const path = `spec.envFrom[${at}]`
  if (from.configMapRef)
    return {
      reason: REASON.configMapNotFound,
      path,
      message: `no ConfigMap "${from.configMapRef.name}" is among the paths: add its manifest`,
    }
  const name = from.secretRef?.name ?? ''
  return {
    reason: REASON.secretNotFound,
    path,
    message: `no Secret "${name}" is among the paths: add its manifest, or name the keys one by one under env`,
  }
}
