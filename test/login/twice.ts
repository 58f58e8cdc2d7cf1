/** A person with a browser who opens the link of a gateway that knows its callers: the person logs in at their issuer first, then at the upstream. */
import type { logIn } from './person.ts'

/**
 * Resolves with status and text of the last page. `browse` is `logIn`: as a parameter, so that the text of this function can run in a pod without imports.
 * `account` is the person's account at the upstream. Each request has its own connection, so that a Service spreads them over the replicas.
 */
export async function logInTwice(
  browse: typeof logIn,
  link: string,
  [who, account]: [string, string],
): Promise<string> {
  const { origin, pathname } = new URL(link)
  const ownConnection = { connection: 'close' }
  let cookie = ''
  const keepCookie = (response: Response) => {
    cookie = response.headers.getSetCookie()[0]?.split(';')[0] ?? cookie
    return response
  }
  const statusAndText = async (response: Response) => `${response.status} ${await response.text()}`
  const page = await (await fetch(link, { headers: ownConnection })).text()
  const action = (/action="([^"]+)"/.exec(page)?.[1] ?? '').replaceAll('&amp;', '&')
  const headers = { ...ownConnection, origin }
  const redirected = keepCookie(
    await fetch(new URL(action, link), { method: 'POST', headers, redirect: 'manual' }),
  )
  if (redirected.status !== 303) return statusAndText(redirected)
  const known = await browse(new URL(redirected.headers.get('location') ?? ''), `${origin}/connect?`, who)
  const next = keepCookie(await fetch(known, { headers: { ...ownConnection, cookie } }))
  if (next.status !== 200) return statusAndText(next)
  const upstream = /href="([^"]+)"/.exec(await next.text())?.[1] ?? ''
  const back = await browse(
    new URL(upstream.replaceAll('&amp;', '&')),
    `${origin}${pathname}/callback`,
    account,
  )
  return statusAndText(await fetch(back, { headers: { ...ownConnection, cookie } }))
}
