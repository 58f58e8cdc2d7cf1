/** Label selectors of a gateway that can match nothing: no set of labels that Kubernetes allows satisfies them. Pure. */
import { REASON } from '../../crds/conditions.ts'
import type { LabelSelector } from '../../crds/core-v1.ts'
import type { McpGatewaySpec } from '../../crds/gateway.ts'
import type { Problem } from '../errors.ts'
import { selects } from './select.ts'

/** A value of a label, or the name in a key, which may have a prefix (Kubernetes' documentation of labels, "Syntax and character set"). */
const PART = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/
const PREFIX = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/
const MAX_PART = 63
const MAX_PREFIX = 253

/** One problem for each selector, at the first field that cannot be satisfied. */
export function checkSelectors(spec: McpGatewaySpec): Problem[] {
  const selectors: [string, LabelSelector | undefined][] = [
    ['spec.servers.selector', spec.servers.selector],
    ...spec.access.map(({ servers }, at): [string, LabelSelector] => [`spec.access[${at}].servers`, servers]),
    ...spec.rateLimits.map(({ servers }, at): [string, LabelSelector | undefined] => [
      `spec.rateLimits[${at}].servers`,
      servers,
    ]),
    ...spec.from.map(({ namespaceSelector }, at): [string, LabelSelector] => [
      `spec.from[${at}].namespaceSelector`,
      namespaceSelector,
    ]),
  ]
  return selectors.flatMap(([path, selector]) => {
    const problem = selector && (malformed(selector, path) ?? contradictory(selector, path))
    return problem ? [problem] : []
  })
}

/** Keys and values that no label can have, and operators with wrong numbers of values. */
function malformed(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  path: string,
): Problem | undefined {
  for (const [key, value] of Object.entries(matchLabels)) {
    const at = `${path}.matchLabels[${JSON.stringify(key)}]`
    if (!isKey(key)) return invalid(at, `"${key}" cannot be the key of a label: correct it`)
    if (!isValue(value)) return invalid(at, `"${value}" cannot be the value of a label: correct it`)
  }
  for (const [index, { key, operator, values = [] }] of matchExpressions.entries()) {
    const at = `${path}.matchExpressions[${index}]`
    if (!isKey(key)) return invalid(`${at}.key`, `"${key}" cannot be the key of a label: correct it`)
    const needsValues = operator === 'In' || operator === 'NotIn'
    if (needsValues && values.length === 0)
      return invalid(`${at}.values`, `${operator} needs at least one value`)
    if (!needsValues && values.length > 0)
      return invalid(`${at}.values`, `${operator} takes no values: remove them`)
    const wrong = values.findIndex(value => !isValue(value))
    if (wrong >= 0)
      return invalid(
        `${at}.values[${wrong}]`,
        `"${values[wrong]}" cannot be the value of a label: correct it`,
      )
  }
  return undefined
}

/** The first key whose requirements no labels satisfy. It suffices to try the absence of the key, each value that they name, and another value. */
function contradictory(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  path: string,
): Problem | undefined {
  const keys = new Set([...Object.keys(matchLabels), ...matchExpressions.map(({ key }) => key)])
  for (const key of keys) {
    const ofKey = {
      matchLabels: Object.hasOwn(matchLabels, key) ? { [key]: matchLabels[key] ?? '' } : {},
      matchExpressions: matchExpressions.filter(expression => expression.key === key),
    }
    const named = [matchLabels[key] ?? '', ...ofKey.matchExpressions.flatMap(({ values = [] }) => values)]
    const unnamed = named.reduce((longest, value) => `${longest}${value}`, 'other')
    const candidates = [{}, ...[...named, unnamed].map(value => ({ [key]: value }))]
    if (!candidates.some(labels => selects(ofKey, labels)))
      return invalid(
        path,
        `its requirements of the label "${key}" contradict each other, so it matches nothing`,
      )
  }
  return undefined
}

function isKey(key: string): boolean {
  const [name = '', prefix, ...others] = key.split('/').reverse()
  if (others.length > 0 || name.length > MAX_PART || !PART.test(name)) return false
  return prefix === undefined || (prefix.length <= MAX_PREFIX && PREFIX.test(prefix))
}

function isValue(value: string): boolean {
  return value === '' || (value.length <= MAX_PART && PART.test(value))
}

function invalid(path: string, message: string): Problem {
  return { reason: REASON.invalid, path, message }
}
