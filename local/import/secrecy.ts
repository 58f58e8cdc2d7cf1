/** Guesses whether a value in a client config is a secret, so that it is never written into a manifest. Pure. */

const SECRET_WORDS = new Set(
  'apikey auth authorization bearer cookie credential credentials dsn jwt key pass passwd password pat private pwd secret secrets token'.split(
    ' ',
  ),
)
const SECRET_VALUE =
  /^(Bearer|Basic|token)\s|^(sk|pk|rk|gh[opsur]|glpat|xox[abpr]|github_pat|AKIA|AIza|hf|npm|pypi|dop_v1|lin_api|ntn|secret)[-_A-Za-z0-9]{12,}|^eyJ[\w-]+\.[\w-]+\.|:\/\/[^/\s:@]+:[^/\s@]+@/

/** Guesses by the name (`GITHUB_TOKEN`, `x-api-key`) and the format of the value (`Bearer …`, `ghp_…`, a URL with a password). */
export function looksSecret(name: string, value: string): boolean {
  if (value === '') return false
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
  return words.some(word => SECRET_WORDS.has(word)) || SECRET_VALUE.test(value)
}

/** The index of the first argument that contains a secret in plain text (`--token=…`, `--api-key …`, or by its format), else -1. */
export function secretArgument(args: readonly string[]): number {
  return args.findIndex((arg, index) => {
    const [, flag, value] = /^--?([\w-]+)=(.+)$/s.exec(arg) ?? []
    if (flag !== undefined && value !== undefined) return looksSecret(flag, value)
    const before = /^--?([\w-]+)$/.exec(args[index - 1] ?? '')?.[1] ?? ''
    return !arg.startsWith('-') && looksSecret(before, arg)
  })
}
