/** Fills the variables of a URI template (RFC 6570): simple and reserved ones. Pure. */

export type Template = { variables: string[]; fill(values: Readonly<Record<string, string>>): string }

const EXPRESSION = /\{([+#./;?&]?)([^{}]*)\}/g
const SIMPLE = /^[\w.%-]+$/

/** Undefined if the template has expressions of other kinds. The whole URI has to be typed then. */
export function templateOf(text: string): Template | undefined {
  const found = [...text.matchAll(EXPRESSION)]
  if (!found.every(([, operator, name = '']) => (operator === '' || operator === '+') && SIMPLE.test(name)))
    return undefined
  return {
    variables: [...new Set(found.map(([, , name = '']) => name))],
    fill: values =>
      text.replace(EXPRESSION, (_whole, operator: string, name: string) =>
        operator === '+' ? encodeURI(values[name] ?? '') : encodeURIComponent(values[name] ?? ''),
      ),
  }
}
