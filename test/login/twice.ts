/** A person with a browser who opens the link of a gateway that knows its callers: the person logs in at their issuer first, then at the upstream. */
import type { logIn } from './person.ts'

/**
 * Resolves with status and text of the last page. `log`: `logIn`, given so that this function is whole where it is sent to run in a pod. `account`: the
 * person's at the upstream. There is a connection for each request, so that a Service spreads them over the replicas.
 */
export async function logInTwice(
  log: typeof logIn,
  link: string,
  [who, account]: [string, string],
): Promise<string> {
  const { origin, pathname } = new URL(link)
  const anew = { connection: 'close' }
  let cookie = ''
  const keepCookie = (response: Response) => {
    cookie = response.headers.getSetCookie()[0]?.split(';')[0] ?? cookie
    return response
  }
  const told = async (response: Response) => `${response.status} ${await response.text()}`
  const page = await (await fetch(link, { headers: anew })).text()
  const action = (/action="([^"]+)"/.exec(page)?.[1] ?? '').replaceAll('&amp;', '&')
  const headers = { ...anew, origin }
  const begun = keepCookie(
    await fetch(new URL(action, link), { method: 'POST', headers, redirect: 'manual' }),
  )
  if (begun.status !== 303) return told(begun)
  const known = await log(new URL(begun.headers.get('location') ?? ''), `${origin}/connect?`, who)
  const next = keepCookie(await fetch(known, { headers: { ...anew, cookie } }))
  if (next.status !== 200) return told(next)
  const upstream = /href="([^"]+)"/.exec(await next.text())?.[1] ?? ''
  const back = await log(new URL(upstream.replaceAll('&amp;', '&')), `${origin}${pathname}/callback`, account)
  return told(await fetch(back, { headers: { ...anew, cookie } }))
}
