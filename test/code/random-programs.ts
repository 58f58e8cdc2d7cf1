/** Random programs of loops, calls, branches and failures, and their results in Node. */
import { createContext, Script } from 'node:vm'
import fc from 'fast-check'

/** What the tools of the random programs do, in the sandbox and in Node. */
export function stubTool(tool: string, args: { n?: number }): unknown {
  if (tool === 'fail') throw new Error(`no ${args.n}`)
  if (tool === 'double') return { value: (args.n ?? 0) * 2 }
  return [args.n ?? 0, tool]
}

const number = fc.integer({ min: -9, max: 9 })
const name = fc.constantFrom('a', 'b', 'c')

const expression: fc.Arbitrary<string> = fc.letrec<{
  one: string
  call: string
  binary: string
  leaf: string
}>(tie => ({
  leaf: fc.oneof(
    number.map(value => `(${value})`),
    name,
  ),
  binary: fc
    .tuple(tie('one'), fc.constantFrom('+', '-', '*', '%', '<', '===', '??', '&&', '||'), tie('one'))
    .map(([left, operator, right]) =>
      operator === '??' ? `((${left}) ?? (${right}))` : `((${left}) ${operator} (${right}))`,
    ),
  call: fc
    .tuple(fc.constantFrom('double', 'pair', 'fail'), tie('one'))
    .map(([tool, arg]) => `(await tools.stub.${tool}({n: Math.trunc(Number(${arg})) % 100 || 0}))`),
  one: fc.oneof({ depthSize: 'small', withCrossShrink: true }, tie('leaf'), tie('binary'), tie('call')),
})).one

const statement: fc.Arbitrary<string> = fc.letrec<{ any: string; block: string }>(tie => ({
  block: fc.array(tie('any'), { maxLength: 3 }).map(lines => `{ ${lines.join('; ')} }`),
  any: fc.oneof(
    { depthSize: 'small' },
    fc.tuple(name, expression).map(([to, value]) => `${to} = ${value}`),
    expression.map(value => `out.push(${value})`),
    fc
      .tuple(expression, tie('block'), tie('block'))
      .map(([test, then, other]) => `if (${test}) ${then} else ${other}`),
    fc
      .tuple(fc.integer({ min: 0, max: 4 }), tie('block'))
      .map(([count, body]) => `for (let i = 0; i < ${count}; i++) ${body}`),
    tie('block').map(body => `try ${body} catch (e) { out.push(e.message) } finally { out.push("f") }`),
    expression.map(value => `if (out.length > 5) throw new RangeError("r" + ${value})`),
    fc
      .array(expression, { minLength: 1, maxLength: 3 })
      .map(
        values =>
          `out.push(...await Promise.all([${values.map(value => `(async () => ${value})()`).join(', ')}]))`,
      ),
    fc
      .tuple(name, expression)
      .map(([from, value]) => `out.push(\`\${${from}}:\${JSON.stringify(${value})}\`)`),
    expression.map(value => `out.push([${value}].map(x => [x, typeof x]).flat())`),
  ),
})).any

export const program: fc.Arbitrary<string> = fc
  .array(statement, { minLength: 1, maxLength: 6 })
  .map(lines => `let a = 1, b = "x", c = null; const out = []\n${lines.join('\n')}\nreturn [a, b, c, out]`)

export type Result = { json: string | undefined } | { failed: string }

/** Runs a program in a context of Node. */
export async function reference(source: string): Promise<Result> {
  const tools = {
    stub: new Proxy({}, { get: (_, tool) => async (args: { n?: number }) => stubTool(String(tool), args) }),
  }
  const context = createContext({ tools })
  try {
    const main = new Script(`(async () => {\n${source}\n})`).runInContext(context, { timeout: 1_000 })
    return { json: JSON.stringify(await main()) }
  } catch (error) {
    return { failed: (error as Error).name === 'Error' ? 'ToolError' : (error as Error).name }
  }
}
