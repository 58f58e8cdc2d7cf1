/** The variables of HTTP proxies that the operator passes on to routers. */
import { Fault } from '../core/errors.ts'
import { hasCredentials } from '../core/proxies.ts'

const PROXY_VARIABLES = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY']

/**
 * The proxy variables that `env` has; lower-case names take precedence. Throws Fault `bad_request` if a proxy has credentials: the variables are
 * written into pod templates, which more people can read than Secrets.
 */
export function proxyVariables(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const given = PROXY_VARIABLES.flatMap(name => {
    const value = env[name.toLowerCase()] || env[name]
    return value ? [[name, value] as const] : []
  })
  const exposed = given.find(([, value]) => hasCredentials(value))
  if (exposed)
    throw new Fault(
      'bad_request',
      `The operator cannot start: ${exposed[0]} has credentials, which would be in the manifests of routers; put them into a Secret and name it in PORTOLAN_PROXY_SECRET (the chart's proxy.secretName)`,
    )
  return Object.fromEntries(given)
}
