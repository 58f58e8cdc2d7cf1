/** Guesses whether a value in a client config is a secret, so that it is never written into a manifest. Pure. */

const SECRET_WORDS = new Set(
  'apikey auth authorization bearer cookie credential credentials dsn jwt key pass passwd password pat private pwd secret secrets token'.split(
    ' ',
  ),
)
const SECRET_VALUE =
  /^(Bearer|Basic|token)\s|^((sk|pk|rk)[-_](?=[-_a-z]*[A-Z0-9])|(glpat|xox[abpr]|lin_api)[-_]|(gh[opsur]|github_pat|hf|npm|dop_v1|ntn|secret)_|pypi-Ag|AKIA|AIza)[-_A-Za-z0-9]{12,}|^eyJ[\w-]+\.[\w-]+\.|:\/\/[^/\s:@]+:[^/\s@]+@/
const QUERY_PARAMETER = /[?&]([\w.-]+)=[^&]/g
/** `${…}` with its default, and `$(…)`; at the start of a URL's authority with what precedes it. */
const VARIABLE = /(:\/\/)?(?:\$\{[^{}]*?(?::-([^{}]*))?\}|\$\([^()]*\))/g
/** What may stand between a secret's name and its variable: `Bearer `, `session=`. */
const BEFORE_VARIABLE = /^[A-Za-z_-]{1,12}[ =]$/

/**
 * Guesses by the name (`GITHUB_TOKEN`, `x-api-key`) and the format of the value (`Bearer …`, `ghp_…`, a URL with a password or a key in its
 * query).
 */
export function looksSecret(name: string, value: string): boolean {
  if (value === '') return false
  return isSecretName(name) || SECRET_VALUE.test(value) || (value.includes('://') && hasSecretQuery(value))
}

/** A secret in plain text within an argument. `name`: of its flag, variable or header; empty if that does not name a secret. */
export type SecretArgument = { before: string; name: string; value: string }

/**
 * The secret in an argument: `--token=…`, what follows `--api-key`, `NAME=…`, `Authorization: …`, or by its format. `previous`: the argument
 * before it.
 */
export function secretIn(arg: string, previous = ''): SecretArgument | undefined {
  const flag = /^--?([\w-]+)$/.exec(previous)?.[1] ?? ''
  if (!arg.startsWith('-') && looksSecret(flag, arg)) return secret('', flag, arg)
  for (const form of SECRET_FORMS) {
    const [, before = '', name = '', value = ''] = form.exec(arg) ?? []
    if (looksSecret(name, value)) return secret(before, name, value)
  }
  return undefined
}

/** Whether an argument has a secret in plain text, also beside variables. `previous`: the argument before it. */
export function hasPlainSecret(arg: string, previous?: string): boolean {
  const plain = withoutVariables(arg)
  const found = secretIn(plain, previous)
  return found !== undefined && (plain === arg || !BEFORE_VARIABLE.test(found.value))
}

/** The text with the defaults of its variables. A variable at the start of a URL's authority becomes a letter: it may be the user's name. */
export function withoutVariables(text: string): string {
  return text.replaceAll(
    VARIABLE,
    (_whole, start = '', ownDefault = '') => `${start}${ownDefault || (start && 'x')}`,
  )
}

/** `--flag=value`, and `NAME=value` or `Name: value`, also as the value of a flag; not `volume:/path` or `host:port`. */
const SECRET_FORMS = [/^(--?([\w-]+)=)(.+)$/s, /^((?:--?[\w-]+=)?([\w-]+)(?:=|:\s*(?!\/|\s|\d{1,5}$)))(.+)$/s]

/** Other names, such as PATH, are not kept: a variable of that name would change what the program does. */
function secret(before: string, name: string, value: string): SecretArgument {
  return { before, name: isSecretName(name) ? name : '', value }
}

function isSecretName(name: string): boolean {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
  return words.some(word => SECRET_WORDS.has(word))
}

function hasSecretQuery(url: string): boolean {
  const names = [...url.matchAll(QUERY_PARAMETER)].map(([, name = '']) => name)
  return names.some(name => isSecretName(name) || /(?:key|token|secret)$/i.test(name))
}
