// Adds numbers with a tool, several calls at once. A script may be a whole function, as here, or only its body:
//   portolan run examples/code/sum.js examples/code examples/laptop/everything.yaml
async function main() {
  const pairs = [
    [1, 2],
    [3, 4],
    [5, 6],
  ]
  const sums = await Promise.all(pairs.map(([a, b]) => tools.everything['get-sum']({ a, b })))
  return sums.map(text => Number(/is (\d+)/.exec(text)?.[1]))
}
