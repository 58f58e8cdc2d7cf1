/** The variables of HTTP proxies that the operator passes on to routers. */
import { Fault } from '../core/errors.ts'
import { hasCredentials } from '../core/proxies.ts'

const PROXY_VARIABLES = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY']

/** For pod templates, which more people can read than Secrets. Throws Fault `bad_request` if a proxy has credentials. */
export function proxyVariables(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const given = PROXY_VARIABLES.flatMap(name => {
    const value = env[name.toLowerCase()] || env[name]
    return value ? [[name, value] as const] : []
  })
  const open = given.find(([, value]) => hasCredentials(value))
  if (open)
    throw new Fault(
      'bad_request',
      `The operator cannot start: ${open[0]} has credentials, which would be in the manifests of routers; put them into a Secret and name it in PORTOLAN_PROXY_SECRET (the chart's proxy.secretName)`,
    )
  return Object.fromEntries(given)
}
