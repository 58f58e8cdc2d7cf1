/** Writes the reference page of our kinds from their schemas. Pure. */
import { API_VERSION, NAME_RULES } from '../crds/object-meta.ts'
import { type KindDefinition, plainSchema, type Schema } from './crd.ts'

/** Returns Markdown with a section for each kind: the fields of its spec and status. */
export function referencePage(kinds: readonly KindDefinition[]): string {
  const intro = [
    '# Reference',
    '',
    '<!-- Generated from crds/ by `npm run generate`: do not edit. -->',
    '',
    `The kinds of \`${API_VERSION}\`. Fields without a default are optional unless marked **required**.`,
    'Names:',
    '',
    ...NAME_RULES.map(({ message }) => `- ${message}.`),
    '',
  ]
  return `${[...intro, ...kinds.flatMap(kindSection)].join('\n').trimEnd()}\n`
}

function kindSection({ kind, description, schema }: KindDefinition): string[] {
  const { spec, status } = plainSchema(schema).properties ?? {}
  const rules = spec?.['x-kubernetes-validations'] ?? []
  return [
    `## ${kind}`,
    '',
    description,
    '',
    ...fieldTable('spec', spec),
    ...(rules.length > 0
      ? [
          'Rules:',
          '',
          ...rules.map(({ message, fieldPath = '' }) => `- \`spec${fieldPath}\` ${message}.`),
          '',
        ]
      : []),
    'Status, written by Portolan:',
    '',
    ...fieldTable('status', status),
  ]
}

function fieldTable(path: string, schema: Schema | undefined): string[] {
  return ['| field | type | default | meaning |', '|---|---|---|---|', ...rowsOf(path, schema), '']
}

function rowsOf(path: string, schema: Schema | undefined): string[] {
  return Object.entries(schema?.properties ?? {}).flatMap(([name, field]) => {
    const isRequired = schema?.required?.includes(name) ?? false
    return [row(`${path}.${name}`, field, isRequired), ...nested(`${path}.${name}`, field)]
  })
}

function nested(path: string, schema: Schema): string[] {
  if (schema.items) return rowsOf(`${path}[]`, schema.items)
  const values = schema.additionalProperties
  return values && values.type === 'object' ? rowsOf(`${path}.<name>`, values) : rowsOf(path, schema)
}

function row(path: string, schema: Schema, isRequired: boolean): string {
  const meaning = `${isRequired ? '**required** ' : ''}${schema.description ?? ''}`
  return `| \`${path}\` | ${typeText(schema)} | ${defaultText(schema)} | ${meaning.replaceAll('|', '\\|')} |`
}

function typeText(schema: Schema): string {
  if (schema.enum) return schema.enum.map(value => `\`${value}\``).join(', ')
  if (schema.type === 'array') return `list of ${schema.items ? typeText(schema.items) : 'anything'}`
  if (schema.type !== 'object') return `${schema.type ?? 'anything'}${rangeText(schema)}`
  const values = schema.additionalProperties
  if (values && Object.keys(values).length > 0) return `map to ${typeText(values)}`
  return values ? 'free form' : 'object'
}

function rangeText({ minimum, maximum }: Schema): string {
  if (minimum === undefined) return ''
  return maximum === undefined || maximum === Number.MAX_SAFE_INTEGER
    ? ` ≥ ${minimum}`
    : ` ${minimum} to ${maximum}`
}

function defaultText(schema: Schema): string {
  return schema.default === undefined || schema.type === 'object'
    ? ''
    : `\`${JSON.stringify(schema.default)}\``
}
