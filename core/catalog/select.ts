/** Kubernetes label selectors. Pure. */

import type { LabelSelector } from '../../crds/core-v1.ts'
import { ownValue } from '../own-value.ts'

/** Whether labels match a selector; an empty selector matches everything. */
export function selects(selector: LabelSelector, labels: Readonly<Record<string, string>> = {}): boolean {
  const label = (key: string) => ownValue(labels, key)
  const equal = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => label(key) === value)
  return (
    equal && (selector.matchExpressions ?? []).every(expression => holds(expression, label(expression.key)))
  )
}

type Expression = NonNullable<LabelSelector['matchExpressions']>[number]

function holds({ operator, values = [] }: Expression, value: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
  }
}
