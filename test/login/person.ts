/** A person at a browser without scripts, who fills in whatever form a login page has. */

const MAX_PAGES = 12

/** Submits every form until a page sends the person back to the client; returns that URL, which is not opened. */
export async function logIn(page: URL, callback: string, who = 'ada'): Promise<URL> {
  const cookies = new Map<string, string>()
  let next: { url: URL; form?: URLSearchParams } = { url: page }
  for (let step = 0; step < MAX_PAGES; step++) {
    const { url, form } = next
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form && { method: 'POST', body: form }),
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      cookies.set(name, value)
    }
    const location = response.headers.get('location')
    const html = await response.text()
    next = { url: new URL(location ?? /action="([^"]+)"/.exec(html)?.[1] ?? '', url) }
    if (next.url.href.startsWith(callback)) return next.url
    const prompt = /name="prompt" value="([^"]+)"/.exec(html)?.[1] ?? ''
    if (location === null) next.form = new URLSearchParams({ prompt, login: who, password: 'any' })
  }
  throw new Error('the login did not come to an end')
}
